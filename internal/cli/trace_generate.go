package cli

import (
	"github.com/spf13/cobra"

	"kvfanin/internal/generate"
)

func newGenerate(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "A seeded trace, to stdout or a file",
		Long: `Writes a generated trace as Mooncake JSONL: Poisson arrivals, questions about
shared documents behind shared system prompts, some followed up. The same
parameters give the same bytes on every machine. The defaults are what
kvfanin study runs over when it is given no trace.`,
		Args: takes(0, 0, "argument"),
	}
	flags := cmd.Flags()
	p := generate.Default()
	flags.Uint64Var(&p.Seed, "seed", p.Seed, "seed of all that is drawn")
	flags.IntVar(&p.Requests, "requests", p.Requests, "requests in the trace")
	flags.Int64Var(&p.BlockTokens, "block-size", p.BlockTokens, "tokens in one block")
	flags.Int64Var(&p.MeanGapMS, "mean-gap", p.MeanGapMS, "mean time between arrivals, in `ms`")
	flags.Int64Var(&p.ChatPercent, "chat", p.ChatPercent, "`percent` of requests that are a lone question and share nothing")
	flags.Int64Var(&p.OneOffPercent, "one-off", p.OneOffPercent, "`percent` of requests about a document of their own")
	flags.Int64Var(&p.Documents, "documents", p.Documents, "documents in use at a time, which the other requests ask about")
	flags.Int64Var(&p.DocumentBlocks, "document-blocks", p.DocumentBlocks, "mean length of a document, in `blocks`")
	flags.Int64Var(&p.QuestionsPerDocument, "questions", p.QuestionsPerDocument, "mean questions about a document before another takes its place")
	flags.Int64Var(&p.FollowUpPercent, "follow-up", p.FollowUpPercent, "`percent` of questions that go on the document with their answer")
	flags.Int64Var(&p.QuestionTokens, "question-tokens", p.QuestionTokens, "mean length of a question, in `tokens`")
	flags.Int64Var(&p.AnswerTokens, "answer-tokens", p.AnswerTokens, "mean length of an answer, in `tokens`")
	flags.Int64Var(&p.Heads, "heads", p.Heads, "different system prompts")
	flags.Int64Var(&p.HeadBlocks, "head-blocks", p.HeadBlocks, "length of a system prompt, in `blocks`")
	output := flags.StringP("output", "o", "", "`file` to write, instead of stdout")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := p.Validate(); err != nil {
			return usageError{err}
		}
		out, err := newOutput(cmd.Context(), e.stdout, *output)
		if err != nil {
			return err
		}
		defer out.abandon()
		if err := generate.Write(out, p); err != nil {
			return out.failed(err)
		}
		return out.publish()
	}
	return cmd
}
