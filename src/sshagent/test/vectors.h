/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Made by ssh-keygen and ssh-agent: a key of each type, and its signature of the 32 bytes 0 to 31.
 */
static const struct vector {
	const char *name, *key, *signature;
} vectors[] = {
	{ "ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIP+OX8JVkF/CutwRg/9BSaE6tf/yruLimwvBEfRGUMgx",
		"AAAAC3NzaC1lZDI1NTE5AAAAQFAIPQ2aJiaxUBO0IVpEZaIybDqilePUi1c25udYylLIN1HOxNQquooPO5"
		"Ol+jbI"
		"822jmKHbTT9VlW6l135iOA8=" },
	{ "p256",
		"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBPq5PC+"
		"6N4OA0GHr3tEf2EOBUcWOYyEC9cPH"
		"8sJKNLCptkDyCnzWQAsg3L6h72EGTb7AgAMIEyIgqudsZ4Tv64Q=",
		"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAABJAAAAIHK8dXaMkDoKMmnjAxeuY+"
		"EwEfMQlhMhhkLErLxDOrX8AAAA"
		"IQCNjHW1szH+W78jT2hMpgM0JzKi7mYC+TsHMl7fpHxYVQ==" },
	{ "p384",
		"AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAAAIbmlzdHAzODQAAABhBP8LU2L39idv6Vh5kIRGJj5cPOts1D"
		"qgpeKc"
		"cK8nm5+Jc86XcGksmpkuDcsxOQ+nTGIkXCGthwV77aQwLrZTOL5zq2qk4lo90Fa5F8v7KM+"
		"Yzfdd3WvENzvnrFUc"
		"5DoSCg==",
		"AAAAE2VjZHNhLXNoYTItbmlzdHAzODQAAABpAAAAMQDBEJ2i+TjA904LhjkU9/"
		"rUhMA1tdOh2sRq+okPTxwCpzjx"
		"j0SNX8sHpJ/"
		"RfcIdAbMAAAAwUTpsW66h1kYjWetnCJw1s234pzCg5ppPk9gltj0tlEIzzoQigOKSPMuLaHaMWPcc" },
	{ "p521",
		"AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBAFYfJhyHYpRqAkRTMp1Lxj0NIdB80"
		"EDo1fb"
		"tRQxm8EAx64WRSewOD554DvpcgbJvFMhkbTOkhMX/"
		"O1W0tyN520i4QCAXKrhePt34o5WGI1gLS1aEdIWUqduAzo+"
		"e6qkjGDbqESF0sw3WHT6rBG9rb7bqPPfpXIRuhXNrBKfMykfhy0aLg==",
		"AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAACLAAAAQgFjT0UVdPHvaTZFR2j5/"
		"vpB4ok2WdkXCFs7YeXckLxcmCOm"
		"5PsLC+v4Lep34QrXTDlacl8C406z2rTOALEgiDHA2QAAAEFVhXRw02A353QRKYmV/"
		"6q8hEgBZ1M7zwcQyOkX3udY"
		"p2kRNqgn+KZetk4+SI0RQvInNHivkUBB9TaDzegO0cWZTg==" },
	{ "rsa",
		"AAAAB3NzaC1yc2EAAAADAQABAAABAQC1ACjfuXeoxA8q0aHfSfSO1BRxywGfOfRGYRWflA+tQ+"
		"ylJOD7OCu/fzZX"
		"MnkfRwaapxLiJJcts6Gh0eZeYfyZbVeJ4vsq7OZ1kAOVYTkq7arTWTOOvsW3e8IgP0n5/SCkPQM/"
		"irANubPEdyrL"
		"Y8uGc2GKLWamop5w4h3ClkQrHD2AAKlMbMur7sXpRel+lKIfsnZj6rJ2xi9svMMqgiQES/"
		"7naQ7r+IYdBu3y4TJs"
		"tmbK8LMxXHwvd2qV6EFJm5+w0G5CeaGz6zae4KWkKbBkqwQBJJuW/U3ZUvw+eFUV2NfYmQtiW/rl/"
		"XAvNMgmgszV"
		"LTWvrlIFTcb+TIZ/SyOt",
		"AAAADHJzYS1zaGEyLTI1NgAAAQA7cn99SHiYeSvjEsrX4ZbZyVb1hrEpCeDhnWQZK0uzXhqi2QG1bCf9bf"
		"nN2ULX"
		"GfIlNo5Hsn34Ja57ya+e23JylkgQVc4R/xJKLEVZ1vYrNcbPoex+snQhzKlhhqE90jY4zgXVKYJ/fLcs/"
		"dswCbuB"
		"q81WbRmpfmaVwHSGwgIsviX9Z5WHwSvlSQDRdnnmX/"
		"wdcGGhYXUyEAUvfV0i5jrKh9dJulF3Tv0tu8qpX1mB7s1E"
		"7uiTq9a5u1WsVqq0WYdom0dpwd5WsJLq2ef0xCa7+W9/40rvGlvNltWaPEUB13YdhWKn/"
		"c+jauA35ZtGSiy3KoeM"
		"vzhHANr7kGMgHaS5" },
	{ "rsa512",
		"AAAAB3NzaC1yc2EAAAADAQABAAABAQC1ACjfuXeoxA8q0aHfSfSO1BRxywGfOfRGYRWflA+tQ+"
		"ylJOD7OCu/fzZX"
		"MnkfRwaapxLiJJcts6Gh0eZeYfyZbVeJ4vsq7OZ1kAOVYTkq7arTWTOOvsW3e8IgP0n5/SCkPQM/"
		"irANubPEdyrL"
		"Y8uGc2GKLWamop5w4h3ClkQrHD2AAKlMbMur7sXpRel+lKIfsnZj6rJ2xi9svMMqgiQES/"
		"7naQ7r+IYdBu3y4TJs"
		"tmbK8LMxXHwvd2qV6EFJm5+w0G5CeaGz6zae4KWkKbBkqwQBJJuW/U3ZUvw+eFUV2NfYmQtiW/rl/"
		"XAvNMgmgszV"
		"LTWvrlIFTcb+TIZ/SyOt",
		"AAAADHJzYS1zaGEyLTUxMgAAAQCNr355o6ApTiESMRSSupQtqb4etwtuHaJsXmmUCmQtaUwGVJWCSeG8qy"
		"dRHuzs"
		"Yx2qQwdmrsLllKEFdfnQfS67TiR+nCxXiVY58tOyplEqwgXSET+"
		"yXdyw3NhTS4yi6N3BvmCNqGGKiBOuMyeNXRDz"
		"Rgixc4/"
		"0G6m0QZYYe0llUT+Gla1KbKfT4pEIHldXNvavJrvz2eTI+xBNBuoPm8wK1KrcU0m1V1MvtHR+M6YLLhMC"
		"PT8kwv9zNohPh/"
		"UJnXCJjunww+FNUcbuV5Wwj8P0XAXA79BJFHf5f03e1EAbEmf2Lb15UIUdlzERbn4O45buiOJ8"
		"SWGzHnYOl38H++ow" },
	{ "rsa1",
		"AAAAB3NzaC1yc2EAAAADAQABAAABAQC1ACjfuXeoxA8q0aHfSfSO1BRxywGfOfRGYRWflA+tQ+"
		"ylJOD7OCu/fzZX"
		"MnkfRwaapxLiJJcts6Gh0eZeYfyZbVeJ4vsq7OZ1kAOVYTkq7arTWTOOvsW3e8IgP0n5/SCkPQM/"
		"irANubPEdyrL"
		"Y8uGc2GKLWamop5w4h3ClkQrHD2AAKlMbMur7sXpRel+lKIfsnZj6rJ2xi9svMMqgiQES/"
		"7naQ7r+IYdBu3y4TJs"
		"tmbK8LMxXHwvd2qV6EFJm5+w0G5CeaGz6zae4KWkKbBkqwQBJJuW/U3ZUvw+eFUV2NfYmQtiW/rl/"
		"XAvNMgmgszV"
		"LTWvrlIFTcb+TIZ/SyOt",
		"AAAAB3NzaC1yc2EAAAEAJdI31NrhJFf9WV6j8eZvOGdPvV/"
		"LPjG6RMtdsiVu8c6q91ogqH5Aj7MvIDH5Jq6ApshL"
		"jle2h7mrc2VOjooQOmrppdpv6Xbfd15oySlsqeC8UEckSw/"
		"GPYShZD85Az66UkfBYfth0iBD8MUG76mOzDm85C6B"
		"edH6a27MaMpElNWfyLo3QqkZ7dKnaLNowLljHpL4JOdV775ZZhOy3xUQZV2OxUcIp0MWaV27qEbn/"
		"vs1ltzMHEz1"
		"qSoTx8FOzw/"
		"TQK914sqKJmrBOZHiVx1P5LFraDUf34PKYD3JYxkOnuWkMZOLu+5rrXWh8c0Ozpr2Hqx44GKZZ0lC"
		"KDx4rOsnXg==" },
};

enum {
	VECTOR_ED25519,
	VECTOR_P256,
	VECTOR_P384,
	VECTOR_P521,
	VECTOR_RSA,
	VECTOR_RSA_512,
	VECTOR_SHA1
};
