package generate

import "fmt"

// Params is one generated trace. A mean m of a length in tokens stands for a
// uniform draw from 1 to 2m-1, a mean m of a count for a geometric one from 1.
type Params struct {
	Seed        uint64
	Requests    int   // requests in the trace
	BlockTokens int64 // tokens in one block
	MeanGapMS   int64 // mean time between arrivals, ms

	// Of a hundred requests, ChatPercent are a lone question that shares
	// nothing and OneOffPercent a question about a document of its own. The
	// others ask about one of the Documents in use, each equally likely.
	ChatPercent   int64 // percent of requests
	OneOffPercent int64 // percent of requests
	Documents     int64 // documents in use at a time

	DocumentBlocks       int64 // mean length of a document in blocks, the last one filled in part
	QuestionsPerDocument int64 // mean number of questions before a document in use is replaced

	// A question is followed up: the document then goes on with that question
	// and its answer, and later questions extend both.
	FollowUpPercent int64 // percent of questions about documents in use
	QuestionTokens  int64 // mean length of a question in tokens
	AnswerTokens    int64 // mean length of an answer (the output) in tokens

	// Every document comes after one of Heads system prompts, drawn uniformly.
	Heads      int64 // different system prompts
	HeadBlocks int64 // length of a system prompt in blocks; 0 for none
}

// Default returns the parameters of the trace a study runs over when it is
// given none: 4,000 requests in about 17 minutes, about 30 blocks of 512 tokens
// each, half the reuses of a block after less than about a minute.
func Default() Params {
	return Params{
		Seed:        1,
		Requests:    4000,
		BlockTokens: 512,
		MeanGapMS:   252,

		ChatPercent:   30,
		OneOffPercent: 15,
		Documents:     220,

		DocumentBlocks:       42,
		QuestionsPerDocument: 6,

		FollowUpPercent: 15,
		QuestionTokens:  200,
		AnswerTokens:    150,

		Heads:      8,
		HeadBlocks: 1,
	}
}

// Validate returns an error that names the first parameter out of its range,
// what stood there and what is allowed. The upper bounds keep every product of
// parameters far from overflow.
func (p Params) Validate() error {
	for _, f := range []struct {
		name            string
		value, min, max int64
	}{
		{"requests", int64(p.Requests), 1, 1_000_000_000},
		{"block tokens", p.BlockTokens, 1, 1_000_000},
		{"mean gap in ms", p.MeanGapMS, 1, 1_000_000_000},
		{"chat percent", p.ChatPercent, 0, 100},
		{"one-off percent", p.OneOffPercent, 0, 100 - p.ChatPercent},
		{"documents", p.Documents, 1, 10_000_000},
		{"document blocks", p.DocumentBlocks, 1, 10_000},
		{"questions per document", p.QuestionsPerDocument, 1, 10_000},
		{"follow-up percent", p.FollowUpPercent, 0, 100},
		{"question tokens", p.QuestionTokens, 1, 100_000},
		{"answer tokens", p.AnswerTokens, 1, 100_000},
		{"heads", p.Heads, 1, 10_000},
		{"head blocks", p.HeadBlocks, 0, 10_000},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("generate: %s is %d, want %d to %d", f.name, f.value, f.min, f.max)
		}
	}
	return nil
}
