/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Values as Python's base64, json, html and urllib.parse write them, and where. */
#include <stddef.h>

static const char *const masking_values[] = {
	"s3cr3t/\"v+alue\077of it",
	"pa\303\237w\303\266rt <&> 'T\303\274r'\\n",
};

static const struct masking_row {
	size_t value; /* of masking_values */
	const char *name, *text;
	size_t len;
	size_t from, to; /* what the value alone decides */
} masking_rows[] = {
	{ 0, "as it is", "key=s3cr3t/\"v+alue\077of it;z", 26, 4, 24 },
	{ 0, "quote", "key=s3cr3t/%22v%2Balue%3Fof%20it;z", 34, 4, 32 },
	{ 0, "quote all", "key=s3cr3t%2F%22v%2Balue%3Fof%20it;z", 36, 4, 34 },
	{ 0, "quote_plus", "key=s3cr3t%2F%22v%2Balue%3Fof+it;z", 34, 4, 32 },
	{ 0, "encodeURIComponent", "key=s3cr3t%2F%22v%2Balue%3Fof%20it;z", 36, 4, 34 },
	{ 0, "each byte %XX", "key=%73%33%63%72%33%74%2F%22%76%2B%61%6C%75%65%3F%6F%66%20%69%74;z",
		66, 4, 64 },
	{ 0, "each byte %xx", "key=%73%33%63%72%33%74%2f%22%76%2b%61%6c%75%65%3f%6f%66%20%69%74;z",
		66, 4, 64 },
	{ 0, "quoted twice", "key=s3cr3t%252F%2522v%252Balue%253Fof%2520it;z", 46, 4, 44 },
	{ 0, "JSON", "key=s3cr3t/\\\"v+alue\077of it;z", 27, 4, 25 },
	{ 0, "JSON, UTF-8", "key=s3cr3t/\\\"v+alue\077of it;z", 27, 4, 25 },
	{ 0, "JSON, slashes", "key=s3cr3t\\/\\\"v+alue\077of it;z", 28, 4, 26 },
	{ 0, "JSON in JSON", "key=s3cr3t/\\\\\\\"v+alue\077of it;z", 29, 4, 27 },
	{ 0, "JSON of Go", "key=s3cr3t/\\\"v+alue\077of it;z", 27, 4, 25 },
	{ 0, "JSON in JSON of PHP", "key=s3cr3t\\\\\\/\\\\\\\"v+alue\077of it;z", 32, 4, 30 },
	{ 0, "each \\u00XX",
		"key="
		"\\u0073\\u0033\\u0063\\u0072\\u0033\\u0074\\u002F\\u0022\\u0076\\u002B\\u0061\\u"
		"006C\\u0075\\u0065\\u003F\\u006F\\u0066\\u0020\\u0069\\u0074;z",
		126, 4, 124 },
	{ 0, "each \\u00xx in JSON",
		"key="
		"\\\\u0073\\\\u0033\\\\u0063\\\\u0072\\\\u0033\\\\u0074\\\\u002f\\\\u0022\\\\u0076"
		"\\\\u00"
		"2b\\\\u0061\\\\u006c\\\\u0075\\\\u0065\\\\u003f\\\\u006f\\\\u0066\\\\u0020\\\\u006"
		"9\\\\u0074"
		";z",
		146, 4, 144 },
	{ 0, "each \\xXX",
		"key="
		"\\x73\\x33\\x63\\x72\\x33\\x74\\x2f\\x22\\x76\\x2b\\x61\\x6c\\x75\\x65\\x3f\\x6f\\"
		"x66"
		"\\x20\\x69\\x74;z",
		86, 4, 84 },
	{ 0, "repr", "key=s3cr3t/\"v+alue\077of it;z", 26, 4, 24 },
	{ 0, "html.escape", "key=s3cr3t/&quot;v+alue\077of it;z", 31, 4, 29 },
	{ 0, "html/template", "key=s3cr3t/&#34;v&#43;alue\077of it;z", 34, 4, 32 },
	{ 0, "each &#N;",
		"key=&#115;&#51;&#99;&#114;&#51;&#116;&#47;&#34;&#118;&#43;&#97;&#108;&#1"
		"17;&#101;&#63;&#111;&#102;&#32;&#105;&#116;;z",
		117, 4, 115 },
	{ 0, "each &#xN;",
		"key=&#x73;&#x33;&#x63;&#x72;&#x33;&#x74;&#x2f;&#x22;&#x76;&#x2b;&#x61;&#"
		"x6c;&#x75;&#x65;&#x3f;&#x6f;&#x66;&#x20;&#x69;&#x74;;z",
		126, 4, 124 },
	{ 0, "each &#XN;",
		"key=&#X0073;&#X0033;&#X0063;&#X0072;&#X0033;&#X0074;&#X002F;&#X0022;&#X0"
		"076;&#X002B;&#X0061;&#X006C;&#X0075;&#X0065;&#X003F;&#X006F;&#X0066;&#X0"
		"020;&#X0069;&#X0074;;z",
		166, 4, 164 },
	{ 0, "HTML in JSON", "key=s3cr3t/&quot;v+alue\077of it;z", 31, 4, 29 },
	{ 0, "JSON in HTML", "key=s3cr3t/\\&quot;v+alue\077of it;z", 32, 4, 30 },
	{ 0, "JSON in a query", "key=s3cr3t%2F%5C%22v%2Balue%3Fof%20it;z", 39, 4, 37 },
	{ 0, "quoted in JSON", "key=s3cr3t%2F%22v%2Balue%3Fof%20it;z", 36, 4, 34 },
	{ 0, "UTF-16LE",
		"key=s\0003\000c\000r\0003\000t\000/"
		"\000\"\000v\000+\000a\000l\000u\000e\000\077\000o\000f\000 \000i\000t\000;z",
		46, 4, 44 },
	{ 0, "UTF-16BE",
		"key=\000s\0003\000c\000r\0003\000t\000/"
		"\000\"\000v\000+\000a\000l\000u\000e\000\077\000o\000f\000 \000i\000t;z",
		46, 4, 44 },
	{ 0, "hex", "key=7333637233742f22762b616c75653f6f66206974;z", 46, 4, 44 },
	{ 0, "HEX", "key=7333637233742F22762B616C75653F6F66206974;z", 46, 4, 44 },
	{ 0, "xxd -p",
		"00000000000000000000000000000000000000007333637233742f22762b\012616c75653f6"
		"f66206974zz",
		83, 40, 81 },
	{ 0, "hex, each digit as %XX",
		"key=%37%33%33%33%36%33%37%32%33%33%37%34%32%66%32%32%37%36%32%62%36%31%3"
		"6%63%37%35%36%35%33%66%36%66%36%36%32%30%36%39%37%34;z",
		126, 4, 124 },
	{ 0, "base32 behind 0", "OMZWG4RTOQXSE5RLMFWHKZJ7N5TCA2LUEZWW64TF", 40, 0, 32 },
	{ 0, "base32 in lower case behind 0", "omzwg4rtoqxse5rlmfwhkzj7n5tca2luezww64tf", 40, 0,
		32 },
	{ 0, "base32 behind 1", "OVZTGY3SGN2C6ITWFNQWY5LFH5XWMIDJOQTG233SMU======", 48, 2, 33 },
	{ 0, "base32 in lower case behind 1",
		"ovztgy3sgn2c6itwfnqwy5lfh5xwmidjoqtg233smu======", 48, 2, 33 },
	{ 0, "base32 behind 2", "OVZXGM3DOIZXILZCOYVWC3DVMU7W6ZRANF2CM3LPOJSQ====", 48, 4, 35 },
	{ 0, "base32 in lower case behind 2",
		"ovzxgm3doizxilzcoyvwc3dvmu7w6zranf2cm3lpojsq====", 48, 4, 35 },
	{ 0, "base32 behind 3", "OVZWK4ZTMNZDG5BPEJ3CWYLMOVST633GEBUXIJTNN5ZGK===", 48, 5, 36 },
	{ 0, "base32 in lower case behind 3",
		"ovzwk4ztmnzdg5bpej3cwylmovst633gebuxijtnn5zgk===", 48, 5, 36 },
	{ 0, "base32 behind 4", "OVZWK4TTGNRXEM3UF4RHMK3BNR2WKP3PMYQGS5BGNVXXEZI=", 48, 7, 38 },
	{ 0, "base32 in lower case behind 4",
		"ovzwk4ttgnrxem3uf4rhmk3bnr2wkp3pmyqgs5bgnvxxezi=", 48, 7, 38 },
	{ 0, "base64 behind 0", "czNjcjN0LyJ2K2FsdWU/b2YgaXQmbW9yZQ==", 36, 0, 26 },
	{ 0, "base64 at the end behind 0", "czNjcjN0LyJ2K2FsdWU/b2YgaXQ=", 28, 0, 26 },
	{ 0, "base64url behind 0", "czNjcjN0LyJ2K2FsdWU_b2YgaXQmbW9yZQ==", 36, 0, 26 },
	{ 0, "base64 in 76 columns behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4czNjcjN0LyJ2K2FsdWU/b2YgaXQm"
		"bW9y\012ZQ==",
		81, 44, 70 },
	{ 0, "base64 in 64 columns behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4czNjcjN0LyJ2K2FsdWU/b2Yg\015\012aXQmbW"
		"9yZQ==",
		78, 40, 68 },
	{ 0, "base64 of GitHub behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4czNjcjN0LyJ2K2FsdWU/b2Yg\\naXQmbW9yZQ"
		"==",
		74, 36, 64 },
	{ 0, "base64 in YAML behind 0",
		"czNjcjN0LyJ2K2Fs\012      dWU/b2YgaXQmbW9y\012      ZQ==", 50, 0, 33 },
	{ 0, "base64 in JSON of PHP behind 0", "czNjcjN0LyJ2K2FsdWU\\/b2YgaXQmbW9yZQ==", 37, 0,
		27 },
	{ 0, "base64 in HTML behind 0", "czNjcjN0LyJ2K2FsdWU&#x2F;b2YgaXQmbW9yZQ==", 41, 0, 31 },
	{ 0, "base64 in a query behind 0", "czNjcjN0LyJ2K2FsdWU%2Fb2YgaXQmbW9yZQ%3D%3D", 42, 0,
		28 },
	{ 0, "base64 of UTF-16LE behind 0",
		"cwAzAGMAcgAzAHQALwAiAHYAKwBhAGwAdQBlAD8AbwBmACAAaQB0ACYAbQBvAHIAZQA=", 68, 0, 53 },
	{ 0, "base64 behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0Jm1vcmU=", 36, 2, 28 },
	{ 0, "base64 at the end behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0", 28, 2, 28 },
	{ 0, "base64url behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0Jm1vcmU=", 36, 2, 28 },
	{ 0, "base64 in 76 columns behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHMzY3IzdC8idithbHVlP29mIGl0"
		"Jm1v\012cmU=",
		81, 46, 72 },
	{ 0, "base64 in 64 columns behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHMzY3IzdC8idithbHVlP29m\015\012IGl0Jm"
		"1vcmU=",
		78, 42, 70 },
	{ 0, "base64 of GitHub behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHMzY3IzdC8idithbHVlP29m\\nIGl0Jm1vcm"
		"U=",
		74, 38, 66 },
	{ 0, "base64 in YAML behind 1",
		"dXMzY3IzdC8idith\012      bHVlP29mIGl0Jm1v\012      cmU=", 50, 2, 35 },
	{ 0, "base64 in JSON of PHP behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0Jm1vcmU=", 36, 2, 28 },
	{ 0, "base64 in HTML behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0Jm1vcmU=", 36, 2, 28 },
	{ 0, "base64 in a query behind 1", "dXMzY3IzdC8idithbHVlP29mIGl0Jm1vcmU%3D", 38, 2, 28 },
	{ 0, "base64 of UTF-16LE behind 1",
		"dQBzADMAYwByADMAdAAvACIAdgArAGEAbAB1AGUAPwBvAGYAIABpAHQAJgBtAG8AcgBlAA==", 72, 3,
		56 },
	{ 0, "base64 behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdCZtb3Jl", 36, 3, 29 },
	{ 0, "base64 at the end behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdA==", 32, 3, 29 },
	{ 0, "base64url behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdCZtb3Jl", 36, 3, 29 },
	{ 0, "base64 in 76 columns behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhzM2NyM3QvInYrYWx1ZT9vZiBp"
		"dCZt\012b3Jl",
		81, 47, 73 },
	{ 0, "base64 in 64 columns behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhzM2NyM3QvInYrYWx1ZT9v\015\012ZiBpdC"
		"Ztb3Jl",
		78, 43, 71 },
	{ 0, "base64 of GitHub behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhzM2NyM3QvInYrYWx1ZT9v\\nZiBpdCZtb3"
		"Jl",
		74, 39, 67 },
	{ 0, "base64 in YAML behind 2", "dXNzM2NyM3QvInYr\012      YWx1ZT9vZiBpdCZt\012      b3Jl",
		50, 3, 36 },
	{ 0, "base64 in JSON of PHP behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdCZtb3Jl", 36, 3, 29 },
	{ 0, "base64 in HTML behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdCZtb3Jl", 36, 3, 29 },
	{ 0, "base64 in a query behind 2", "dXNzM2NyM3QvInYrYWx1ZT9vZiBpdCZtb3Jl", 36, 3, 29 },
	{ 0, "base64 of UTF-16LE behind 2",
		"dQBzAHMAMwBjAHIAMwB0AC8AIgB2ACsAYQBsAHUAZQA/AG8AZgAgAGkAdAAmAG0AbwByAGUA", 72, 6,
		58 },
	{ 1, "as it is", "key=pa\303\237w\303\266rt <&> 'T\303\274r'\\n;z", 28, 4, 26 },
	{ 1, "quote", "key=pa%C3%9Fw%C3%B6rt%20%3C%26%3E%20%27T%C3%BCr%27%5Cn;z", 56, 4, 54 },
	{ 1, "quote all", "key=pa%C3%9Fw%C3%B6rt%20%3C%26%3E%20%27T%C3%BCr%27%5Cn;z", 56, 4, 54 },
	{ 1, "quote_plus", "key=pa%C3%9Fw%C3%B6rt+%3C%26%3E+%27T%C3%BCr%27%5Cn;z", 52, 4, 50 },
	{ 1, "encodeURIComponent", "key=pa%C3%9Fw%C3%B6rt%20%3C%26%3E%20'T%C3%BCr'%5Cn;z", 52, 4,
		50 },
	{ 1, "each byte %XX",
		"key=%70%61%C3%9F%77%C3%B6%72%74%20%3C%26%3E%20%27%54%C3%BC%72%27%5C%6E;z", 72, 4,
		70 },
	{ 1, "each byte %xx",
		"key=%70%61%c3%9f%77%c3%b6%72%74%20%3c%26%3e%20%27%54%c3%bc%72%27%5c%6e;z", 72, 4,
		70 },
	{ 1, "quoted twice",
		"key=pa%25C3%259Fw%25C3%25B6rt%2520%253C%2526%253E%2520%2527T%25C3%25BCr%"
		"2527%255Cn;z",
		84, 4, 82 },
	{ 1, "JSON", "key=pa\\u00dfw\\u00f6rt <&> 'T\\u00fcr'\\\\n;z", 41, 4, 39 },
	{ 1, "JSON, UTF-8", "key=pa\303\237w\303\266rt <&> 'T\303\274r'\\\\n;z", 29, 4, 27 },
	{ 1, "JSON, slashes", "key=pa\\u00dfw\\u00f6rt <&> 'T\\u00fcr'\\\\n;z", 41, 4, 39 },
	{ 1, "JSON in JSON", "key=pa\\\\u00dfw\\\\u00f6rt <&> 'T\\\\u00fcr'\\\\\\\\n;z", 46, 4,
		44 },
	{ 1, "JSON of Go", "key=pa\303\237w\303\266rt \\u003c\\u0026\\u003e 'T\303\274r'\\\\n;z",
		44, 4, 42 },
	{ 1, "JSON in JSON of PHP", "key=pa\\\\u00dfw\\\\u00f6rt <&> 'T\\\\u00fcr'\\\\\\\\n;z", 46,
		4, 44 },
	{ 1, "each \\u00XX",
		"key="
		"\\u0070\\u0061\\u00DF\\u0077\\u00F6\\u0072\\u0074\\u0020\\u003C\\u0026\\u003E\\u"
		"0020\\u0027\\u0054\\u00FC\\u0072\\u0027\\u005C\\u006E;z",
		120, 4, 118 },
	{ 1, "each \\u00xx in JSON",
		"key="
		"\\\\u0070\\\\u0061\\\\u00df\\\\u0077\\\\u00f6\\\\u0072\\\\u0074\\\\u0020\\\\u003c"
		"\\\\u00"
		"26\\\\u003e\\\\u0020\\\\u0027\\\\u0054\\\\u00fc\\\\u0072\\\\u0027\\\\u005c\\\\u006"
		"e;z",
		139, 4, 137 },
	{ 1, "each \\xXX",
		"key="
		"\\x70\\x61\\xc3\\x9f\\x77\\xc3\\xb6\\x72\\x74\\x20\\x3c\\x26\\x3e\\x20\\x27\\x54\\"
		"xc3"
		"\\xbc\\x72\\x27\\x5c\\x6e;z",
		94, 4, 92 },
	{ 1, "repr", "key=pa\\xc3\\x9fw\\xc3\\xb6rt <&> 'T\\xc3\\xbcr'\\\\n;z", 47, 4, 45 },
	{ 1, "html.escape", "key=pa\303\237w\303\266rt &lt;&amp;&gt; &#x27;T\303\274r&#x27;\\n;z",
		48, 4, 46 },
	{ 1, "html/template", "key=pa\303\237w\303\266rt &lt;&amp;&gt; &#39;T\303\274r&#39;\\n;z",
		46, 4, 44 },
	{ 1, "each &#N;",
		"key=&#112;&#97;&#223;&#119;&#246;&#114;&#116;&#32;&#60;&#38;&#62;&#32;&#"
		"39;&#84;&#252;&#114;&#39;&#92;&#110;;z",
		110, 4, 108 },
	{ 1, "each &#xN;",
		"key=&#x70;&#x61;&#xdf;&#x77;&#xf6;&#x72;&#x74;&#x20;&#x3c;&#x26;&#x3e;&#"
		"x20;&#x27;&#x54;&#xfc;&#x72;&#x27;&#x5c;&#x6e;;z",
		120, 4, 118 },
	{ 1, "each &#XN;",
		"key=&#X0070;&#X0061;&#X00DF;&#X0077;&#X00F6;&#X0072;&#X0074;&#X0020;&#X0"
		"03C;&#X0026;&#X003E;&#X0020;&#X0027;&#X0054;&#X00FC;&#X0072;&#X0027;&#X0"
		"05C;&#X006E;;z",
		158, 4, 156 },
	{ 1, "HTML in JSON", "key=pa\\u00dfw\\u00f6rt &lt;&amp;&gt; &#x27;T\\u00fcr&#x27;\\\\n;z",
		61, 4, 59 },
	{ 1, "JSON in HTML", "key=pa\\u00dfw\\u00f6rt &lt;&amp;&gt; &#x27;T\\u00fcr&#x27;\\\\n;z",
		61, 4, 59 },
	{ 1, "JSON in a query", "key=pa%5Cu00dfw%5Cu00f6rt%20%3C%26%3E%20%27T%5Cu00fcr%27%5C%5Cn;z",
		65, 4, 63 },
	{ 1, "quoted in JSON", "key=pa%C3%9Fw%C3%B6rt%20%3C%26%3E%20%27T%C3%BCr%27%5Cn;z", 56, 4,
		54 },
	{ 1, "UTF-16LE",
		"key=p\000a\000\337\000w\000\366\000r\000t\000 \000<\000&\000>\000 "
		"\000'\000T\000\374\000r\000'\000\\\000n\000;z",
		44, 4, 42 },
	{ 1, "UTF-16BE",
		"key=\000p\000a\000\337\000w\000\366\000r\000t\000 \000<\000&\000>\000 "
		"\000'\000T\000\374\000r\000'\000\\\000n;z",
		44, 4, 42 },
	{ 1, "hex", "key=7061c39f77c3b67274203c263e202754c3bc72275c6e;z", 50, 4, 48 },
	{ 1, "HEX", "key=7061C39F77C3B67274203C263E202754C3BC72275C6E;z", 50, 4, 48 },
	{ 1, "xxd -p",
		"00000000000000000000000000000000000000007061c39f77c3b6727420\0123c263e20275"
		"4c3bc72275c6ezz",
		87, 40, 85 },
	{ 1, "hex, each digit as %XX",
		"key=%37%30%36%31%63%33%39%66%37%37%63%33%62%36%37%32%37%34%32%30%33%63%3"
		"2%36%33%65%32%30%32%37%35%34%63%33%62%63%37%32%32%37%35%63%36%65;z",
		138, 4, 136 },
	{ 1, "base32 behind 0", "OBQ4HH3XYO3HE5BAHQTD4IBHKTB3Y4RHLRXCM3LPOJSQ====", 48, 0, 35 },
	{ 1, "base32 in lower case behind 0",
		"obq4hh3xyo3he5bahqtd4ibhktb3y4rhlrxcm3lpojsq====", 48, 0, 35 },
	{ 1, "base32 behind 1", "OVYGDQ47O7B3M4TUEA6CMPRAE5KMHPDSE5OG4JTNN5ZGK===", 48, 2, 36 },
	{ 1, "base32 in lower case behind 1",
		"ovygdq47o7b3m4tuea6cmprae5kmhpdse5og4jtnn5zgk===", 48, 2, 36 },
	{ 1, "base32 behind 2", "OVZXAYODT534HNTSOQQDYJR6EATVJQ54OITVY3RGNVXXEZI=", 48, 4, 38 },
	{ 1, "base32 in lower case behind 2",
		"ovzxayodt534hntsoqqdyjr6eatvjq54oitvy3rgnvxxezi=", 48, 4, 38 },
	{ 1, "base32 behind 3", "OVZWK4DBYOPXPQ5WOJ2CAPBGHYQCOVGDXRZCOXDOEZWW64TF", 48, 5, 40 },
	{ 1, "base32 in lower case behind 3", "ovzwk4dbyopxpq5woj2capbghyqcovgdxrzcoxdoezww64tf",
		48, 5, 40 },
	{ 1, "base32 behind 4", "OVZWK4TQMHBZ656DWZZHIIB4EY7CAJ2UYO6HEJ24NYTG233SMU======", 56, 7,
		41 },
	{ 1, "base32 in lower case behind 4",
		"ovzwk4tqmhbz656dwzzhiib4ey7caj2uyo6hej24nytg233smu======", 56, 7, 41 },
	{ 1, "base64 behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbiZtb3Jl", 36, 0, 29 },
	{ 1, "base64 at the end behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbg==", 32, 0, 29 },
	{ 1, "base64url behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbiZtb3Jl", 36, 0, 29 },
	{ 1, "base64 in 76 columns behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4cGHDn3fDtnJ0IDwmPiAnVMO8cidc"
		"biZt\012b3Jl",
		81, 44, 73 },
	{ 1, "base64 in 64 columns behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4cGHDn3fDtnJ0IDwmPiAnVMO8\015\012cidcbi"
		"Ztb3Jl",
		78, 40, 71 },
	{ 1, "base64 of GitHub behind 0",
		"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4cGHDn3fDtnJ0IDwmPiAnVMO8\\ncidcbiZtb3"
		"Jl",
		74, 36, 67 },
	{ 1, "base64 in YAML behind 0", "cGHDn3fDtnJ0IDwm\012      PiAnVMO8cidcbiZt\012      b3Jl",
		50, 0, 36 },
	{ 1, "base64 in JSON of PHP behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbiZtb3Jl", 36, 0, 29 },
	{ 1, "base64 in HTML behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbiZtb3Jl", 36, 0, 29 },
	{ 1, "base64 in a query behind 0", "cGHDn3fDtnJ0IDwmPiAnVMO8cidcbiZtb3Jl", 36, 0, 29 },
	{ 1, "base64 of UTF-16LE behind 0",
		"cABhAN8AdwD2AHIAdAAgADwAJgA+ACAAJwBUAPwAcgAnAFwAbgAmAG0AbwByAGUA", 64, 0, 50 },
	{ 1, "base64 behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4mbW9yZQ==", 40, 2, 30 },
	{ 1, "base64 at the end behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4=", 32, 2, 30 },
	{ 1, "base64url behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4mbW9yZQ==", 40, 2, 30 },
	{ 1, "base64 in 76 columns behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHBhw593w7ZydCA8Jj4gJ1TDvHIn"
		"XG4m\012bW9yZQ==",
		85, 46, 74 },
	{ 1, "base64 in 64 columns behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHBhw593w7ZydCA8Jj4gJ1TD\015\012vHInXG"
		"4mbW9yZQ==",
		82, 42, 72 },
	{ 1, "base64 of GitHub behind 1",
		"dXh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHBhw593w7ZydCA8Jj4gJ1TD\\nvHInXG4mbW"
		"9yZQ==",
		78, 38, 68 },
	{ 1, "base64 in YAML behind 1",
		"dXBhw593w7ZydCA8\012      Jj4gJ1TDvHInXG4m\012      bW9yZQ==", 54, 2, 37 },
	{ 1, "base64 in JSON of PHP behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4mbW9yZQ==", 40, 2,
		30 },
	{ 1, "base64 in HTML behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4mbW9yZQ==", 40, 2, 30 },
	{ 1, "base64 in a query behind 1", "dXBhw593w7ZydCA8Jj4gJ1TDvHInXG4mbW9yZQ%3D%3D", 44, 2,
		30 },
	{ 1, "base64 of UTF-16LE behind 1",
		"dQBwAGEA3wB3APYAcgB0ACAAPAAmAD4AIAAnAFQA/AByACcAXABuACYAbQBvAHIAZQA=", 68, 3, 53 },
	{ 1, "base64 behind 2", "dXNwYcOfd8O2cnQgPCY+ICdUw7xyJ1xuJm1vcmU=", 40, 3, 32 },
	{ 1, "base64 at the end behind 2", "dXNwYcOfd8O2cnQgPCY+ICdUw7xyJ1xu", 32, 3, 32 },
	{ 1, "base64url behind 2", "dXNwYcOfd8O2cnQgPCY-ICdUw7xyJ1xuJm1vcmU=", 40, 3, 32 },
	{ 1, "base64 in 76 columns behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhwYcOfd8O2cnQgPCY+ICdUw7xy"
		"J1xu\012Jm1vcmU=",
		85, 47, 76 },
	{ 1, "base64 in 64 columns behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhwYcOfd8O2cnQgPCY+ICdU\015\012w7xyJ1"
		"xuJm1vcmU=",
		82, 43, 74 },
	{ 1, "base64 of GitHub behind 2",
		"dXN4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhwYcOfd8O2cnQgPCY+ICdU\\nw7xyJ1xuJm"
		"1vcmU=",
		78, 39, 70 },
	{ 1, "base64 in YAML behind 2",
		"dXNwYcOfd8O2cnQg\012      PCY+ICdUw7xyJ1xu\012      Jm1vcmU=", 54, 3, 39 },
	{ 1, "base64 in JSON of PHP behind 2", "dXNwYcOfd8O2cnQgPCY+ICdUw7xyJ1xuJm1vcmU=", 40, 3,
		32 },
	{ 1, "base64 in HTML behind 2", "dXNwYcOfd8O2cnQgPCY&#43;ICdUw7xyJ1xuJm1vcmU=", 44, 3, 36 },
	{ 1, "base64 in a query behind 2", "dXNwYcOfd8O2cnQgPCY%2BICdUw7xyJ1xuJm1vcmU%3D", 44, 3,
		34 },
	{ 1, "base64 of UTF-16LE behind 2",
		"dQBzAHAAYQDfAHcA9gByAHQAIAA8ACYAPgAgACcAVAD8AHIAJwBcAG4AJgBtAG8AcgBlAA==", 72, 6,
		56 },
};
