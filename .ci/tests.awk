# For .ci/test-v2: reads go test -v and prints what go test prints without -v, and after it
# every test that was skipped with its reason. Ends with go test's exit code,
# which comes as the last line.

function flush(  i) {
	for (i = 1; i <= lines; i++)
		if (!(owner[i] in passed))
			print kept[i]
}

function forget() {
	lines = 0
	test = ""
	split("", passed)
	split("", last)
}

function top(name) {
	sub(/\/.*/, "", name)
	return name
}

/^go test ended with [0-9]+$/ { code = $NF; ended = 1; next }

# What the compiler and vet say about a package comes between any two packages.
/^(=== |--- |PASS$|FAIL|ok  |\?   )/ || /^\t.*(\[no test files\]|coverage: .*)$/ { compiler = 0 }
/^# / { compiler = 1 }
compiler { print; next }

/^=== (RUN|PAUSE|CONT|NAME)/ { test = $3; next }

# The end of a package: one that passed says so, one that failed all it said.
/^(ok  |\?   )\t/ || /^\t.*(\[no test files\]|coverage: .*)$/ { print; forget(); next }
/^FAIL\t/ { flush(); print; forget(); next }

# A log line of a test; the last one before its end is why it was skipped.
/^ +[^ ]+\.go:[0-9]+: / {
	reason = $0
	sub(/^ +[^ ]+\.go:[0-9]+: /, "", reason)
	last[test] = reason
}
/^ *--- SKIP: / { skipped[++skips] = $3 ": " last[$3] }
/^--- PASS: / { passed[$3]; test = ""; next }
/^--- SKIP: / { passed[$3]; test = ""; next }
/^--- / || /^(panic|fatal error|WARNING): / || /^=+$/ { test = "" }
{ kept[++lines] = $0; owner[lines] = top(test) }

END {
	flush()
	if (skips)
		print "skipped:"
	for (i = 1; i <= skips; i++)
		print "  " skipped[i]
	exit ended ? code : 1
}
