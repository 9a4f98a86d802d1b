/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/buffer.h"
#include "advice/shell/shell.h"

/*
 * A script in one line: commands in order with " ; " between them, one '+' per level of depth,
 * words with a space between them.
 */
static void describe(const struct shell_script *s, struct buffer *out)
{
	for (size_t i = 0; i < s->n_commands; i++) {
		const struct shell_command *c = &s->commands[i];

		buffer_adds(out, i ? " ; " : "");
		for (unsigned k = 0; k < c->depth; k++)
			buffer_addc(out, '+');
		for (size_t k = 0; k < c->n_words; k++)
			buffer_printf(out, "%s%s", k ? " " : "", c->words[k].text);
	}
}

/* Reads from a heap block of just that length, so that a sanitizer sees every step too far. */
static int parse(struct shell_script *s, struct arena *a, const char *text, struct error *e)
{
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, text, len + 1);
	r = shell_parse(s, a, copy, len, e);
	free(copy);
	return r;
}

static const struct {
	const char *text, *commands;
} cases[] = {
	/* Nothing at all. */
	{ "", "" },
	{ "  \t ", "" },
	{ "\n\n", "" },
	{ "# only a comment", "" },
	{ "# don't\n", "" },
	{ "\\\n", "" },

	/* Lists and pipes. */
	{ "ls", "ls" },
	{ "curl -s URL | jq .", "curl -s URL ; jq ." },
	{ "a;b", "a ; b" },
	{ "a && b || c", "a ; b ; c" },
	{ "a & b &", "a ; b" },
	{ "a |& b", "a ; b" },
	{ "a |\n\n b", "a ; b" },
	{ "a && # why\n b", "a ; b" },
	{ "a\nb\n", "a ; b" },
	{ "a;\nb", "a ; b" },
	{ "a \\\n  -b", "a -b" },
	{ "ec\\\nho x", "echo x" },
	{ "a # b; c", "a" },
	{ "a#b", "a#b" },
	{ "a;#b\nc", "a ; c" },
	{ "echo a # it's \"\nb", "echo a ; b" },
	{ "! a", "a" },
	{ "! a | b", "a ; b" },
	{ "a\r\n", "a\r" },
	{ "a x\r\nb", "a x\r ; b" },

	/* Quotes. */
	{ "echo 'a b' c", "echo a b c" },
	{ "echo 'a;b|c'", "echo a;b|c" },
	{ "echo \"a'b\"", "echo a'b" },
	{ "echo \"a\\\"b\\$c\\d\\\\\"", "echo a\"b$c\\d\\" },
	{ "echo \"a\\\nb\"", "echo ab" },
	{ "echo a\\ b\\;c", "echo a b;c" },
	{ "\\ls", "ls" },
	{ "l's' -\"l\"", "ls -l" },
	{ "echo ''", "echo " },
	{ "'' x", " x" },
	{ "echo a\\", "echo a\\" },
	{ "echo $'a\\tb\\'c\\x41\\101\\u00e9\\U0001F600\\e\\q'", "echo a\tb'cAAé😀\x1b\\q" },
	{ "echo $'a\\0b'c $'x\\x00y' $'\\u0000z'.", "echo ac x ." },
	{ "echo $'\\cA\\c\\\\.' $'\\c'", "echo \x01\x1c. \\c" },
	{ "echo $'\\ud800'.", "echo ." },
	{ "echo $\"hello\"", "echo hello" },
	{ "echo \"$'a'\"", "echo $'a'" },
	{ "echo $ a$ \"$\"", "echo $ a$ $" },
	{ "'if' x; i\"f\" y", "if x ; if y" },
	{ "echo if then fi", "echo if then fi" },

	/* Substitutions. */
	{ "echo $(date)", "echo $(date) ; +date" },
	{ "echo \"$(date)\"", "echo $(date) ; +date" },
	{ "echo '$(date)'", "echo $(date)" },
	{ "echo \\$(date)", NULL },
	{ "echo \"$(echo \")\")\"", "echo $(echo \")\") ; +echo )" },
	{ "echo \"a $(b \"c $(d 'e)')\") f\"",
		"echo a $(b \"c $(d 'e)')\") f ; +b c $(d 'e)') ; ++d e)" },
	{ "$(a) b", "$(a) b ; +a" },
	{ "a$(b)c", "a$(b)c ; +b" },
	{ "a=$(x) b", "b ; +x" },
	{ "a=$(x)", " ; +x" },
	{ "echo $(a; b | c)", "echo $(a; b | c) ; +a ; +b ; +c" },
	{ "echo $( # )\na)", "echo $( # )\na) ; +a" },
	{ "echo $(case x in x) a;; esac)", "echo $(case x in x) a;; esac) ; +a" },
	{ "echo $()", "echo $()" },
	{ "echo `a`", "echo `a` ; +a" },
	{ "echo `a \\`b\\``", "echo `a \\`b\\`` ; +a `b` ; ++b" },
	{ "echo \"`a \\\"b c\\\"`\"", "echo `a \\\"b c\\\"` ; +a b c" },
	{ "echo `a '$x' \\$y \\\\`", "echo `a '$x' \\$y \\\\` ; +a $x $y \\" },
	{ "echo `a # b`c", "echo `a # b`c ; +a" },
	{ "echo '`a`'", "echo `a`" },
	{ "diff <(a) <(b)", "diff <(a) <(b) ; +a ; +b" },
	{ "a > >(b)", "a ; +b" },
	{ "a < <(b | c)", "a ; +b ; +c" },
	{ "a x<(b)y", "a x<(b)y ; +b" },

	/* Parameters and arithmetic. */
	{ "echo $x ${y} $1 $@ $#", "echo $x ${y} $1 $@ $#" },
	{ "echo ${x:-$(a)}", "echo ${x:-$(a)} ; +a" },
	{ "echo \"${x:-$(a \"b\")}\"", "echo ${x:-$(a \"b\")} ; +a b" },
	{ "echo ${x:-`a`} ${y:-<(b)}", "echo ${x:-`a`} ${y:-<(b)} ; +a ; +b" },
	{ "echo ${x%'}'} ${x#\\}} ${x/\"}\"/y}", "echo ${x%'}'} ${x#\\}} ${x/\"}\"/y}" },
	{ "echo \"${x%'}'}\"", "echo ${x%'}'}" },
	{ "echo \"${a[0]%'}'} ${!b#'}'}\"", "echo ${a[0]%'}'} ${!b#'}'}" },
	{ "echo \"${x:-don't}\"; a", "echo ${x:-don't} ; a" },
	{ "echo ${#x} ${#} ${x##*/}", "echo ${#x} ${#} ${x##*/}" },
	{ "echo ${x:-${y:-$(a)}}", "echo ${x:-${y:-$(a)}} ; +a" },
	{ "echo ${ a; }x", "echo ${ a; }x ; +a" },
	{ "echo $((1+2))", "echo $((1+2))" },
	{ "echo $(( (1+2)*$(a) + `b` ))", "echo $(( (1+2)*$(a) + `b` )) ; +a ; +b" },
	{ "echo $(( \"$(a \")\" \")\")\" ))", "echo $(( \"$(a \")\" \")\")\" )) ; +a ) )" },
	{ "echo $(( 1 \\) 2 ))", "echo $(( 1 \\) 2 ))" },
	{ "echo $( (a) )", "echo $( (a) ) ; ++a" },
	{ "echo $((a); b)", "echo $((a); b) ; ++a ; +b" },
	{ "echo $((a) )", "echo $((a) ) ; ++a" },
	{ "((i++)) && a", "a" },
	{ "((a); b)", "++a ; +b" },
	{ "echo $[1+2]", "echo $[1+2]" },

	/* Grouping. */
	{ "(a; b)", "+a ; +b" },
	{ "( (a) )", "++a" },
	{ "(a)|b", "+a ; b" },
	{ "(a)#c", "+a" },
	{ "{ a; b; }", "a ; b" },
	{ "{ a;} && { b\n}", "a ; b" },
	{ "{a,b} c", "{a,b} c" },
	{ "echo { }", "echo { }" },
	{ "{ { a; } }", "a" },

	/* Compound commands. */
	{ "if a; then b; fi", "a ; b" },
	{ "if a; then b; elif c; then d; else e; fi", "a ; b ; c ; d ; e" },
	{ "if a\nthen\nb\nelse\nc\nfi", "a ; b ; c" },
	{ "if (a) then b; fi", "+a ; b" },
	{ "if\\\n a; then b; fi\\\n", "a ; b" },
	{ "while a; do b; done", "a ; b" },
	{ "until a\ndo b\ndone", "a ; b" },
	{ "while read x; do eval \"$x\"; done", "read x ; eval $x" },
	{ "for x in a $(b) *.c; do c $x; done", "+b ; c $x" },
	{ "for x in a\ndo b; done", "b" },
	{ "for x\nin a; do b; done", "b" },
	{ "for x; do b; done; for y do c; done", "b ; c" },
	{ "for x in; do b; done", "b" },
	{ "for ((i=0; i<$(a); i++)); do b; done", "+a ; b" },
	{ "for ((;;)) { b; }", "b" },
	{ "for x in a; { b; }", "b" },
	{ "select x in a b; do c; done", "c" },
	{ "case x in (a|b) c;; esac", "c" },
	{ "case $x in a) b;; c) d; e;; *) f; esac", "b ; d ; e ; f" },
	{ "case x in\n a | b )\n c\n ;;\n\n esac", "c" },
	{ "case \"$(a)\" in $(b)) c;& 'd)') e;;& f) ;; esac", "+a ; +b ; c ; e" },
	{ "case x\nin a) b & ;; esac", "b" },
	{ "case x in esac", "" },
	{ "case a in a) case b in b) c;; esac;; esac", "c" },
	{ "[[ -f a && b == c* ]] && d", "d" },
	{ "[[ $x =~ ^(a|b)[[:space:]]$ ]] || c", "c" },
	{ "[[ a == $(b) \n && ( c < d ) ]]", "+b" },
	{ "[ -f x ] && a", "[ -f x ] ; a" },
	{ "f() { a; }; f", "a ; f" },
	{ "f () (a)", "+a" },
	{ "f()\n{\na\n}", "a" },
	{ "function f { a; }", "a" },
	{ "function f() { a; } > b", "a ; " },
	{ "my-f.x() { a; }", "a" },
	{ "f() a b", "a b" },
	{ "coproc a b", "a b" },
	{ "coproc N { a; }; coproc { b; }; coproc N (c)", "a ; b ; +c" },
	{ "time { a; }; time -p (b); time ! c", "a ; +b ; c" },
	{ "time a b", "time a b ; +a b" },
	{ "time", "time" },
	{ "ls @(a|b) !(c|$(d)) +(e|(f))", "ls @(a|b) !(c|$(d)) +(e|(f)) ; +d" },
	{ "!(a)", "+a" },

	/* Assignments. */
	{ "A=1 B=2 c D=3", "c D=3" },
	{ "a=(1 $(b) # )\n 'c)' <(d)); e", " ; +b ; +d ; e" },
	{ "a+=(x) b[1]=y c[$i]+=z d", "d" },
	{ "declare -a x=($(a))", "declare -a x=($(a)) ; +a" },
	{ "1a=2 b", "1a=2 b" },
	{ "a= b", "b" },

	/* Redirections. */
	{ "a > b < c 2>&1", "a" },
	{ "> a b", "b" },
	{ ">a", "" },
	{ "a 2> $(b) c", "a c ; +b" },
	{ "a {fd}> b {x y}", "a {x y}" },
	{ "a &> b; c &>> d; e >| f; g <> h", "a ; c ; e ; g" },
	{ "{ a; } > $(b) 2>&1", "a ;  ; +b" },
	{ "while a; do b; done < c", "a ; b ; " },
	{ "echo 2 > a 2>b", "echo 2" },
	{ "cat <<< \"$(a)\"", "cat ; +a" },

	/* Here-documents. */
	{ "cat <<E\na ) ' \" b\nE\nc", "cat ; c" },
	{ "cat <<E; b\nx $(a) `c`\nE\nd", "cat ; b ; +a ; +c ; d" },
	{ "cat <<'E'\n$(a)\nE\nb", "cat ; b" },
	{ "cat <<\\E\n$(a\nE\nb", "cat ; b" },
	{ "cat <<\"E F\"\n`\nE F\nb", "cat ; b" },
	{ "cat <<-E\n\tx\n\t\tE\nb", "cat ; b" },
	{ "cat <<E\n\tE\nE\nb", "cat ; b" },
	{ "cat <<A <<B\n$(a)\nA\n$(b)\nB\nc", "cat ; +a ; +b ; c" },
	{ "cat <<E | b\nx\nE\n", "cat ; b" },
	{ "cat <<E\n\\$(a) \\`b\\` ${x:-$(c)} $((1+$(d)))\nE", "cat ; +c ; +d" },
	{ "cat <<E\nno end $(a)", "cat ; +a" },
	{ "cat <<E\nx\\\nE\nE\nb", "cat ; b" },
	{ "cat <<E\nx\\\\\nE\nb", "cat ; b" },
	{ "x=$(cat <<E\n) $(a)\nE\n); b", " ; +cat ; ++a ; b" },
	{ "if a <<E; then\nx\nE\nb; fi", "a ; b" },
	{ "(cat <<E)\nx\nE\nb", "+cat ; b" },
	{ "cat <<E $(a\nb)\n$(c)\nE\n", "cat $(a\nb) ; +a ; +b ; +c" },
	{ "cat <<E\r\nx\r\nE\r\nb", "cat ; b" },
	{ "cat <<$x\na\n$x\nb", "cat ; b" },
	{ "cat <<E\n$(cat <<F\n$(a)\nF\n)\nE\nb", "cat ; +cat ; ++a ; b" },
	{ "cat <<E", "cat" },

	/* Commands that start commands. */
	{ "sudo rm -rf x", "sudo rm -rf x ; +rm -rf x" },
	{ "sudo -u me -E -- A=b rm x", "sudo -u me -E -- A=b rm x ; +rm x" },
	{ "sudo --user me --login rm x", "sudo --user me --login rm x ; +rm x" },
	{ "sudo --user=me rm x", "sudo --user=me rm x ; +rm x" },
	{ "sudo -ume rm $(a)", "sudo -ume rm $(a) ; +rm $(a) ; +a" },
	{ "sudo -l rm", "sudo -l rm" },
	{ "sudo -$x rm", "sudo -$x rm" },
	{ "sudo", "sudo" },
	{ "sudo -u", "sudo -u" },
	{ "/usr/bin/env -i A=b -x c", "/usr/bin/env -i A=b -x c ; +-x c" },
	{ "env A=b nohup nice -n 5 a",
		"env A=b nohup nice -n 5 a ; +nohup nice -n 5 a ; ++nice -n 5 a ; +++a" },
	{ "timeout -k 5 10s a b", "timeout -k 5 10s a b ; +a b" },
	{ "timeout $t a", "timeout $t a ; +a" },
	{ "timeout 5", "timeout 5" },
	{ "a | xargs -0 -n 1 -I{} sh -c 'rm {}'",
		"a ; xargs -0 -n 1 -I{} sh -c rm {} ; +sh -c rm {} ; ++rm {}" },
	{ "xargs", "xargs" },
	{ "command ls; command -v ls", "command ls ; +ls ; command -v ls" },
	{ "exec -a x y z; exec > log", "exec -a x y z ; +y z ; exec" },
	{ "builtin cd x", "builtin cd x ; +cd x" },
	{ "sh -c 'a; b'", "sh -c a; b ; +a ; +b" },
	{ "bash -lc 'a $(b)' x y", "bash -lc a $(b) x y ; +a $(b) ; ++b" },
	{ "bash -euo pipefail -c a", "bash -euo pipefail -c a ; +a" },
	{ "bash -oc errexit a", "bash -oc errexit a ; +a" },
	{ "bash +x --rcfile f -c a", "bash +x --rcfile f -c a ; +a" },
	{ "bash -c \"$x\"", "bash -c $x" },
	{ "bash -c", "bash -c" },
	{ "bash script.sh -c a", "bash script.sh -c a" },
	{ "bash -c \"bash -c 'a \\\"b c\\\"'\"",
		"bash -c bash -c 'a \"b c\"' ; +bash -c a \"b c\" ; ++a b c" },
	{ "eval a b; eval 'c; d' e; eval", "eval a b ; +a b ; eval c; d e ; +c ; +d e ; eval" },
	{ "eval \"a $b\"", "eval a $b" },
	{ "trap 'rm t' EXIT; trap - INT; trap -p; trap x",
		"trap rm t EXIT ; +rm t ; trap - INT ; trap -p ; trap x" },
	{ "find . -name '*.c' -exec a {} \\; -ok b {} + -print",
		"find . -name *.c -exec a {} ; -ok b {} + -print ; +a {} ; +b {}" },
	{ "find . -exec", "find . -exec" },
	{ "find . -execdir sh -c 'a' {} \\;", "find . -execdir sh -c a {} ; ; +sh -c a {} ; ++a" },
	{ "su - me -c 'a b'; su me --command c; su me",
		"su - me -c a b ; +a b ; su me --command c ; +c ; su me" },
	{ "watch -n 1 a b", "watch -n 1 a b ; +a b" },
	{ "busybox sh -c a", "busybox sh -c a ; +sh -c a ; ++a" },
	{ "$SUDO a", "$SUDO a" },
	{ "FOO=1 sudo a > b", "sudo a ; +a" },
	{ "sud\\o a; 'nohup' b", "sudo a ; +a ; nohup b ; +b" },
};

static void test_commands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		auto_arena a = { 0 };
		auto_buffer out = { 0 };
		struct shell_script s;
		struct error e = { 0 };
		int r = parse(&s, &a, cases[i].text, &e);

		if (!cases[i].commands) {
			assert_int_equal(r, -EINVAL);
			continue;
		}
		if (r < 0)
			fail_msg("%s: %s", cases[i].text, e.text);
		describe(&s, &out);
		assert_string_equal(buffer_text(&out), cases[i].commands);
	}
}

static const struct {
	const char *text;
	unsigned line, column;
	const char *message;
} bad[] = {
	{ "echo 'a", 1, 6, "this quote ' is never closed" },
	{ "echo \"a", 1, 6, "this quote \" is never closed" },
	{ "echo $'a\\'", 1, 6, "this quote $' is never closed" },
	{ "echo $'\\c'\\''", 1, 13, "this quote ' is never closed" },
	{ "a\necho \"$(b\"", 2, 10, "this quote \" is never closed" },
	{ "echo $(a", 1, 6, "this '(' is never closed" },
	{ "echo $((1+2)", 1, 6, "this '(' is never closed" },
	{ "echo <(a", 1, 6, "this '(' is never closed" },
	{ "echo ${a", 1, 6, "this ${ is never closed" },
	{ "echo ${a:-'}", 1, 11, "this quote ' is never closed" },
	{ "echo ${ a; ", 1, 6, "this '${' is never closed" },
	{ "echo ${ a; )", 1, 12, "unexpected )" },
	{ "echo `a", 1, 6, "this ` is never closed" },
	{ "echo `a\\`", 1, 6, "this ` is never closed" },
	{ "echo `a \"b`", 1, 9, "this quote \" is never closed" },
	{ "echo `a \\`b`", 1, 7, "this ` is never closed" },
	{ "(a", 1, 1, "this '(' is never closed" },
	{ "a)", 1, 2, "unexpected )" },
	{ "()", 1, 2, "unexpected )" },
	{ "a (b)", 1, 3, "unexpected (" },
	{ "{ a", 1, 1, "this command is never closed: '}' is missing" },
	{ "}", 1, 1, "unexpected '}'" },
	{ "{ }", 1, 3, "unexpected '}'" },
	{ "a; fi", 1, 4, "unexpected 'fi'" },
	{ "if a; then b", 1, 1, "this command is never closed: 'fi' is missing" },
	{ "if a; then b; done", 1, 15, "unexpected 'done'" },
	{ "if a; fi", 1, 7, "unexpected 'fi'" },
	{ "if a; then fi", 1, 12, "unexpected 'fi'" },
	{ "if a; then b; else fi", 1, 20, "unexpected 'fi'" },
	{ "if then b; fi", 1, 4, "unexpected 'then'" },
	{ "if", 1, 1, "this command is never closed: 'then' is missing" },
	{ "while a; do b; fi", 1, 16, "unexpected 'fi'" },
	{ "while a; b; done", 1, 13, "unexpected 'done'" },
	{ "for x in a; b; done", 1, 13, "unexpected 'b'" },
	{ "for", 1, 4, "the loop's variable is missing" },
	{ "for ((a", 1, 5, "this '((' is never closed" },
	{ "for x in $(", 1, 10, "this '(' is never closed" },
	{ "case", 1, 5, "the word to choose by is missing" },
	{ "case x a) b;; esac", 1, 8, "unexpected 'a'" },
	{ "case x in a) b", 1, 1, "this command is never closed: 'esac' is missing" },
	{ "case x in a b;; esac", 1, 13, "unexpected 'b'" },
	{ "case x in a|) b;; esac", 1, 13, "a pattern is missing" },
	{ "case x in a) b) c;; esac", 1, 15, "unexpected )" },
	{ "case x in a) $( ;; esac", 1, 17, "unexpected ;;" },
	{ "[[ a", 1, 1, "this '[[' is never closed" },
	{ "[[ a; b ]]", 1, 5, "unexpected ;" },
	{ "[[ $( ]]", 1, 4, "this '(' is never closed" },
	{ "f( a", 1, 2, "unexpected (" },
	{ "function f( a", 1, 13, "unexpected 'a'" },
	{ "function", 1, 9, "the function's name is missing" },
	{ "a &&", 1, 5, "a command is missing at the end" },
	{ "a | )", 1, 5, "unexpected )" },
	{ "| a", 1, 1, "unexpected |" },
	{ "a ;; b", 1, 3, "unexpected ;;" },
	{ "a ; ; b", 1, 5, "unexpected ;" },
	{ "a & ; b", 1, 5, "unexpected ;" },
	{ "!", 1, 2, "a command is missing at the end" },
	{ "a >", 1, 4, "a file name is missing behind >" },
	{ "a <<<\n", 1, 6, "a file name is missing behind <<<" },
	{ "{ a; } > 'b", 1, 10, "this quote ' is never closed" },
	{ "{ a; } b", 1, 8, "unexpected 'b'" },
	{ "{ a; } (b)", 1, 8, "unexpected (" },
	{ "a=(b", 1, 3, "this '(' is never closed" },
	{ "a @(b", 1, 4, "this '(' is never closed" },
	{ "a @(b 'c", 1, 7, "this quote ' is never closed" },
	{ "cat <<E\n$(a\nE\n", 2, 1, "this '(' is never closed" },
	{ "a <<E; case x\n$(\nE\nin b) c;; esac", 2, 1, "this '(' is never closed" },
	{ "a <<E; case x in\n$(\nE\nb) c;; esac", 2, 1, "this '(' is never closed" },
	{ "a <<E; for x\n$(\nE\ndo b; done", 2, 1, "this '(' is never closed" },
	{ "a <<E; [[ b\n$(\nE\n]]", 2, 1, "this '(' is never closed" },
	{ "echo $(cat <<E)\nE\n", 1, 15, "a here-document ends here before it has begun" },
	{ "bash -c 'a \"b'", 1, 12, "this quote \" is never closed" },
	{ "bash -c 'a '\\''b'", 1, 9, "this quote ' is never closed" },
	{ "bash -c 'a)'", 1, 11, "unexpected )" },
	{ "find . -exec sh -c \\' \\;", 1, 20, "this quote ' is never closed" },
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_arena a = { 0 };
		struct shell_script s = { .n_commands = 42 };
		struct error e = { 0 };

		assert_int_equal(parse(&s, &a, bad[i].text, &e), -EINVAL);
		assert_string_equal(e.text, bad[i].message);
		assert_int_equal(e.line, bad[i].line);
		assert_int_equal(e.column, bad[i].column);
		assert_int_equal(s.n_commands, 42);
		assert_int_equal(parse(&s, &a, bad[i].text, NULL), -EINVAL);
	}
	assert_int_equal(
		shell_parse(&(struct shell_script){ 0 }, &(struct arena){ 0 }, "a\0b", 3, NULL),
		-EINVAL);
}

/* One word each: is it known before running? */
static const struct {
	const char *word;
	bool dynamic;
} words[] = {
	{ "a", false },
	{ "'$x'", false },
	{ "\\$x", false },
	{ "\"\\$x\"", false },
	{ "$'$x'", false },
	{ "$x", true },
	{ "a$x", true },
	{ "\"$x\"", true },
	{ "${x}", true },
	{ "$1", true },
	{ "$?", true },
	{ "$(a)", true },
	{ "`a`", true },
	{ "\"`a`\"", true },
	{ "$((1))", true },
	{ "<(a)", true },
	{ "$\"a\"", true },
	{ "$", false },
	{ "a$", false },
	{ "*", true },
	{ "a?", true },
	{ "'*'", false },
	{ "\"*\"", false },
	{ "\\*", false },
	{ "[ab]", true },
	{ "[", false },
	{ "[a", false },
	{ "]", false },
	{ "'['a]", false },
	{ "{a,b}", true },
	{ "{1..3}", true },
	{ "{}", false },
	{ "{a}", false },
	{ "a,b", false },
	{ "{a,b", false },
	{ "{a','b}", false },
	{ "~", true },
	{ "~/x", true },
	{ "~me/x", true },
	{ "a~", false },
	{ "'~'", false },
	{ "a=~/x", true },
	{ "a=b:~/x", true },
	{ "h:~/x", false },
	{ "@(a|b)", true },
	{ "a=(b)", false },
	{ "a=(b $x)", true },
	{ "-n", false },
	{ "é", false },
};

static void test_dynamic(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(words); i++) {
		auto_arena a = { 0 };
		auto_buffer text = { 0 };
		struct shell_script s;

		buffer_printf(&text, "echo %s", words[i].word);
		assert_int_equal(parse(&s, &a, buffer_text(&text), NULL), 0);
		assert_int_equal(s.commands[0].n_words, 2);
		assert_false(s.commands[0].words[0].dynamic);
		if (s.commands[0].words[1].dynamic != words[i].dynamic)
			fail_msg("%s", words[i].word);
		assert_int_equal(s.commands[0].words[1].offset, 5);
	}
}

/* The redirections of the first command: "FD OP TARGET" with '!' where a file may be changed. */
static const struct {
	const char *text, *redirects;
} redirects[] = {
	{ "a > b", "> b!" },
	{ "a >> b", ">> b!" },
	{ "a >| b", ">| b!" },
	{ "a < b", "< b" },
	{ "a <> b", "<> b!" },
	{ "a &> b", "&> b!" },
	{ "a &>> b", "&>> b!" },
	{ "a >& b", ">& b!" },
	{ "a >&2", ">& 2" },
	{ "a >&-", ">& -" },
	{ "a >& $x", ">& $x!" },
	{ "a >& ''", ">& !" },
	{ "a <&3", "<& 3" },
	{ "a 2>&1 > 'b c'", "2>& 1 > b c!" },
	{ "a {log}>> b", "{log}>> b!" },
	{ "a {}> b", "> b!" },
	{ "a {x> b", "> b!" },
	{ "a 1&>b", "&> b!" },
	{ "a x2>b", "> b!" },
	{ "a <<E 3<<-'F'\nE\nF", "<< E 3<<- F" },
	{ "a <<$x\n$x", "<< $x" },
	{ "a <<< b", "<<< b" },
	{ "a < <(b)", "< <(b)" },
	{ "{ a; } > b", "" },
};

static void test_redirects(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(redirects); i++) {
		auto_arena a = { 0 };
		auto_buffer out = { 0 };
		struct shell_script s;

		assert_int_equal(parse(&s, &a, redirects[i].text, NULL), 0);
		for (size_t k = 0; k < s.commands[0].n_redirects; k++) {
			const struct shell_redirect *r = &s.commands[0].redirects[k];

			buffer_printf(&out, "%s%s%s %s%s", k ? " " : "", r->fd, r->op,
				r->target.text, r->is_write ? "!" : "");
			if (strncmp(r->op, "<<", 2) == 0)
				assert_false(r->target.dynamic);
		}
		assert_string_equal(buffer_text(&out), redirects[i].redirects);
	}
}

/* Each command as OFFSET, the operator before it, its name, and (b) for builtins. */
static const struct {
	const char *text, *commands;
} places[] = {
	{ "a;b", "0a 2;b" },
	{ "a && b || c | d & e\nf |& g", "0a 5&&b 10||c 14|d 18&e 20;f 25|&g" },
	{ "cd x && echo y", "0cd(b) 8&&echo(b)" },
	{ "/bin/echo x; $x", "0/bin/echo 13;$x" },
	{ "A=1; > b", "0(b) 5;(b)" },
	{ "a | { b; }", "0a 6|b" },
	{ "a | while b; do c; done", "0a 10|b 16;c" },
	{ "a && (b)", "0a 6&&b" },
	{ "a | echo $(b; c) | d", "0a 4|echo(b) 11b 14;c 19|d" },
	{ "a; { b; } > c; d", "0a 5;b 10(b) 15;d" },
	{ "case x in a) b;; c) d;; esac; e", "13b 20;d 30;e" },
	{ "a | sudo b $(c)", "0a 4|sudo 9|b 13c" },
	{ "sh -c 'a; b'", "0sh 7a 10;b" },
	{ "sh -c \"a; b\"", "0sh 7a 10;b" },
	{ "sh -c a\\;b", "0sh 6a 6;b" },
	{ "sh -c a", "0sh 6a" },
	{ "eval a b", "0eval(b) 5a" },
	{ "echo `a; b`", "0echo(b) 6a 9;b" },
	{ "echo `a; b \\$x`", "0echo(b) 6a 6;b" },
	{ "x `a; \\`b\\``", "0x 3a 3;`b` 3b" },
	{ "time -p a", "0time(b) 8a" },
	{ "cat <<E; a\n$(b)\nE\nc", "0cat 9;a 13b 18;c" },
};

static void test_places(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(places); i++) {
		auto_arena a = { 0 };
		auto_buffer out = { 0 };
		struct shell_script s;

		assert_int_equal(parse(&s, &a, places[i].text, NULL), 0);
		for (size_t k = 0; k < s.n_commands; k++) {
			const struct shell_command *c = &s.commands[k];

			buffer_printf(&out, "%s%zu%s%s%s", k ? " " : "", c->offset, c->before,
				c->n_words ? c->words[0].text : "", c->is_builtin ? "(b)" : "");
		}
		assert_string_equal(buffer_text(&out), places[i].commands);
	}
}

static void test_assignments(void **state)
{
	auto_arena a = { 0 };
	struct shell_script s;

	(void)state;
	assert_int_equal(parse(&s, &a, "A=1 B=\"$x y\" env C='3 4' D=5 c E=6", NULL), 0);
	assert_int_equal(s.n_commands, 2);
	assert_int_equal(s.commands[0].n_assignments, 2);
	assert_string_equal(s.commands[0].assignments[1].text, "B=$x y");
	assert_true(s.commands[0].assignments[1].dynamic);
	assert_int_equal(s.commands[1].n_assignments, 2);
	assert_string_equal(s.commands[1].assignments[0].text, "C=3 4");
	assert_string_equal(s.commands[1].words[0].text, "c");
	assert_int_equal(s.commands[1].n_words, 2);
}

static void repeat(struct buffer *out, const char *text, size_t n)
{
	while (n--)
		buffer_adds(out, text);
}

/* Each opened so many times is just deep enough; once more is too deep. */
static void test_depth(void **state)
{
	static const struct {
		const char *open, *middle, *close;
		size_t levels;
	} nests[] = {
		{ "( ", "a", ")", 31 },
		{ "{ ", "a;", " }", 31 },
		{ "! ", "a", "", 31 },
		{ "$(", "a", ")", 15 },
		{ "${x:-", "", "}", 31 },
		{ "sudo ", "a", "", 31 },
		{ "eval ", "a", "", 15 },
		{ "if ", "a", ";then b;fi", 31 },
		{ "@(", "a", ")", 31 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(nests); i++) {
		const size_t k = i / 2, more = i % 2;
		auto_arena a = { 0 };
		auto_buffer text = { 0 };
		struct shell_script s;
		struct error e;

		repeat(&text, nests[k].open, nests[k].levels + more);
		buffer_adds(&text, nests[k].middle);
		repeat(&text, nests[k].close, nests[k].levels + more);
		if (parse(&s, &a, buffer_text(&text), &e) != (more ? -E2BIG : 0))
			fail_msg("%s", buffer_text(&text));
		if (more)
			assert_string_equal(e.text, "nested deeper than 32 levels");
	}
}

static void test_bounds(void **state)
{
	auto_arena a = { 0 };
	auto_buffer text = { 0 };
	struct shell_script s;
	struct error e;

	(void)state;
	repeat(&text, "a;", SHELL_COMMANDS_MAX);
	assert_int_equal(shell_parse(&s, &a, text.data, text.len, &e), 0);
	assert_int_equal(s.n_commands, SHELL_COMMANDS_MAX);
	buffer_adds(&text, "a");
	assert_int_equal(shell_parse(&s, &a, text.data, text.len, &e), -E2BIG);
	assert_string_equal(e.text, "more than 4096 commands");
	repeat(&text, " ", SHELL_INPUT_MAX);
	assert_int_equal(shell_parse(&s, &a, text.data, text.len, &e), -E2BIG);
	assert_string_equal(e.text, "more than 131072 bytes of shell");
}

/* Whatever fails for lack of memory says so, and nothing else happens. */
static void test_out_of_memory(void **state)
{
	static const char text[] = "A=b a 'c d' 2> e <<F `g \\$h` $(i) | sudo j; eval k l\nF\n";
	bool done = false;

	(void)state;
	for (size_t budget = 16; !done; budget += 16) {
		auto_arena a = { .budget = budget };
		struct shell_script s;
		struct error e = { 0 };
		int r = shell_parse(&s, &a, text, strlen(text), &e);

		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || strcmp(e.text, "out of memory") == 0);
		done = r == 0;
		assert_true(budget < 65536);
	}
}

/* Texts that a careless reader goes through again and again, at full length. */
static void test_linear(void **state)
{
	static const char *const units[] = { "$((", "((", "$((#(\n) )", "((#(((\n) )\n", "`", "\\`",
		"<<E ", "${a[", "$(", "<<E\n", "\"$(", "'", "@(", "a=(", "f ", "{", "case x in ",
		"a[", "eval ", "[[ ", "\\\n", "#\n", "find -exec ", "x <<E\n$(a)\nE\n", "\"${x:-",
		"$'\\", "   ", "a \\\n", "sudo x=" };

	(void)state;
	for (size_t i = 0; i < ROWS(units); i++) {
		auto_arena a = { .budget = 64 << 20 };
		auto_buffer text = { 0 };
		struct shell_script s;
		struct timespec from, to;

		while (text.len + strlen(units[i]) <= SHELL_INPUT_MAX)
			buffer_adds(&text, units[i]);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		assert_int_not_equal(shell_parse(&s, &a, text.data, text.len, NULL), -ENOMEM);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		/* A hundred times what it takes: a square of 128 Ki would take far longer. */
		if (to.tv_sec - from.tv_sec >= 3)
			fail_msg("%s takes %ld s", units[i], (long)(to.tv_sec - from.tv_sec));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_dynamic),
		cmocka_unit_test(test_redirects),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_assignments),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_linear),
	};

	return cmocka_run_group_tests_name("shell", tests, NULL, NULL);
}
