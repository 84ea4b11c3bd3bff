# Prints what go test -bench reports, a benchmark in two lines: how many times
# each bound it takes, then the figures.

/^Benchmark/ && NF > 2 {
	name = $1
	sub(/^Benchmark/, "", name)
	sub(/-[0-9]+$/, "", name)
	gsub(/_/, " ", name)
	ratios = figures = ""
	for (i = 3; i < NF; i += 2) {
		if ($(i + 1) ~ /^x-/)
			ratios = ratios sprintf("  %8s x %-12s", $i, substr($(i + 1), 3))
		else
			figures = figures sprintf("  %8s %s", $i, $(i + 1))
	}
	printf "%-44s%s\n%-4s%s\n", name, ratios, "", figures
	fflush()
	next
}
/^pkg:/ { printf "\n%s\n", $2; next }
/^(goos|goarch|cpu):|^(PASS|ok)|^Benchmark/ { next }
/^(FAIL|---.FAIL)/ { failed = 1 }
{ print }
END { exit failed }
