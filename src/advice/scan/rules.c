/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables. A row is good if what it finds is rare in honest skills or deserves a look there too,
 * and if a person who reads "what" knows what to look for. test-scan.c holds for each rule a line
 * that it must find and one, nearly the same, that it must not.
 */
#include "advice/scan/internal.h"
#include "base/array.h"

const struct scan_rule scan_rules[RULE_COUNT] = {
	[RULE_DOWNLOAD_RUN] = { "download-run", SKILL_HIGH,
		"runs what it downloads: nobody has seen what that will be" },
	[RULE_DOWNLOAD_EXECUTABLE] = { "download-executable", SKILL_MEDIUM,
		"downloads a file and makes it a program" },
	[RULE_ENCODED_RUN] = { "encoded-run", SKILL_HIGH,
		"runs code that is written so that it cannot be read" },
	[RULE_EVAL_VARIABLE] = { "eval-variable", SKILL_MEDIUM,
		"runs text as a command: who controls the text controls the machine" },
	[RULE_DELETE_BROADLY] = { "delete-broadly", SKILL_HIGH,
		"deletes the home folder, the whole system or everything at hand" },
	[RULE_DISK_OVERWRITE] = { "disk-overwrite", SKILL_HIGH, "overwrites a disk" },
	[RULE_FORK_BOMB] = { "fork-bomb", SKILL_HIGH,
		"starts processes until the machine stands still" },
	[RULE_PRIVILEGE] = { "privilege", SKILL_MEDIUM, "acts as another user, mostly as root" },
	[RULE_OPEN_PERMISSIONS] = { "open-permissions", SKILL_MEDIUM,
		"lets every user of the machine change a file" },
	[RULE_SETUID] = { "setuid", SKILL_HIGH,
		"makes a program that runs with its owner's rights, whoever starts it" },
	[RULE_DEV_TCP] = { "dev-tcp", SKILL_HIGH,
		"opens a network connection through the shell itself, as attacks do" },
	[RULE_NETCAT_SHELL] = { "netcat-shell", SKILL_HIGH,
		"gives a shell to whoever is at the other end of a connection" },
	[RULE_REVERSE_SHELL] = { "reverse-shell", SKILL_HIGH,
		"connects a shell or a program to the network" },
	[RULE_SSH_KEYS] = { "ssh-keys", SKILL_HIGH, "touches SSH keys, which open other machines" },
	[RULE_SSH_TUNNEL] = { "ssh-tunnel", SKILL_MEDIUM,
		"opens a tunnel through SSH, or trusts any machine that answers" },
	[RULE_CLOUD_CREDENTIALS] = { "cloud-credentials", SKILL_HIGH,
		"touches the keys of cloud accounts" },
	[RULE_GPG_KEYS] = { "gpg-keys", SKILL_HIGH, "touches GnuPG keys" },
	[RULE_PASSWORD_FILES] = { "password-files", SKILL_HIGH,
		"touches the system's passwords or the list of who may become root" },
	[RULE_TOKEN_FILES] = { "token-files", SKILL_MEDIUM,
		"touches files in which tools keep passwords and tokens" },
	[RULE_KEYCHAIN] = { "keychain", SKILL_HIGH, "asks the password store for secrets" },
	[RULE_BROWSER_DATA] = { "browser-data", SKILL_HIGH,
		"touches a browser's cookies or passwords" },
	[RULE_SCREEN] = { "screen", SKILL_LOW, "looks at the screen or the clipboard" },
	[RULE_ENVIRONMENT_SENT] = { "environment-sent", SKILL_HIGH,
		"sends all environment variables, tokens among them, over the network" },
	[RULE_FILE_SENT] = { "file-sent", SKILL_MEDIUM, "sends a file over the network" },
	[RULE_CRON] = { "cron", SKILL_MEDIUM, "has something run later, again and again (cron)" },
	[RULE_SYSTEMD_UNIT] = { "systemd-unit", SKILL_MEDIUM,
		"has something run at every start (systemd)" },
	[RULE_LAUNCHD] = { "launchd", SKILL_MEDIUM, "has something run at every start (launchd)" },
	[RULE_AUTOSTART] = { "autostart", SKILL_MEDIUM,
		"has something run at every login or start" },
	[RULE_SHELL_STARTUP] = { "shell-startup", SKILL_HIGH, "changes what every new shell runs" },
	[RULE_GIT_HOOKS] = { "git-hooks", SKILL_HIGH, "changes what git runs by itself" },
	[RULE_PRELOAD] = { "preload", SKILL_HIGH, "puts code into other programs as they start" },
	[RULE_TRACING] = { "tracing", SKILL_HIGH, "looks into other processes" },
	[RULE_KERNEL_SETTINGS] = { "kernel-settings", SKILL_HIGH, "changes the running kernel" },
	[RULE_CONTAINER_ESCAPE] = { "container-escape", SKILL_HIGH,
		"controls containers in a way that opens the whole machine" },
	[RULE_PROTECTION_OFF] = { "protection-off", SKILL_HIGH,
		"switches a protection of the system off" },
	[RULE_HISTORY_OFF] = { "history-off", SKILL_MEDIUM, "hides which commands were run" },
	[RULE_TLS_UNCHECKED] = { "tls-unchecked", SKILL_MEDIUM,
		"does not check whom it talks to over the network" },
	[RULE_INSTALL_URL] = { "install-url", SKILL_MEDIUM,
		"installs software from an address, past the package registry" },
	[RULE_PYTHON_EXEC] = { "python-exec", SKILL_MEDIUM, "runs text as Python code" },
	[RULE_UNPICKLE] = { "unpickle", SKILL_MEDIUM,
		"reads data in a form that can run code while it is read" },
	[RULE_PYTHON_SHELL] = { "python-shell", SKILL_MEDIUM, "runs shell commands from Python" },
	[RULE_NATIVE_CODE] = { "native-code", SKILL_MEDIUM, "calls native code" },
	[RULE_NODE_PROCESS] = { "node-process", SKILL_MEDIUM, "runs programs from JavaScript" },
	[RULE_NODE_EVAL] = { "node-eval", SKILL_MEDIUM, "runs text as JavaScript code" },
	[RULE_PROMPT_OVERRIDE] = { "prompt-override", SKILL_HIGH,
		"tells the model to ignore its instructions" },
	[RULE_PROMPT_SECRECY] = { "prompt-secrecy", SKILL_HIGH,
		"tells the model to hide something from the user" },
	[RULE_PROMPT_CONSENT] = { "prompt-consent", SKILL_MEDIUM,
		"tells the model to act without asking" },
	[RULE_PROMPT_MARKUP] = { "prompt-markup", SKILL_HIGH,
		"imitates the marks by which a model tells instructions from other text" },
	[RULE_DROP_HOST] = { "drop-host", SKILL_HIGH,
		"talks to a host where anybody can put or receive data" },
	[RULE_METADATA_ADDRESS] = { "metadata-address", SKILL_HIGH,
		"asks a cloud machine for its own credentials" },
	[RULE_MINER] = { "miner", SKILL_HIGH, "mines cryptocurrency" },
	[RULE_RAW_ADDRESS] = { "raw-address", SKILL_MEDIUM,
		"talks to a number instead of a named host" },
	[RULE_HIDDEN_TEXT] = { "hidden-text", SKILL_HIGH,
		"characters that are invisible or change the order of text on the screen" },
	[RULE_LONG_LINE] = { "long-line", SKILL_LOW, "a very long line: hard for people to read" },
	[RULE_ENCODED_BLOB] = { "encoded-blob", SKILL_MEDIUM,
		"a long piece of encoded data: people cannot see what it is" },
	[RULE_BINARY_FILE] = { "binary-file", SKILL_MEDIUM,
		"binary file: cannot be read by people" },
	[RULE_CUT_FILE] = { "cut-file", SKILL_MEDIUM, "only first 1 MiB was read" },
};

#define DOWNLOADERS "curl,wget,aria2c"
#define SHELL_WRITES ">>,tee,sed -i,> ~/,>~/,> $home/,>$home/,> \"$home/"

const struct scan_pattern scan_patterns[] = {
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY, 0, { DOWNLOADERS, "@pipe" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY, 0, { DOWNLOADERS, "|sudo", "@stdin" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY, SCAN_NEAR,
		{ "@stdin,eval,source", "<(curl,<(wget,$(curl,$(wget" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY & ~LANGUAGE_PROSE, SCAN_NEAR,
		{ "@stdin,eval", "`curl,`wget" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY, 0,
		{ "iwr,irm,invoke-webrequest,invoke-restmethod,.downloadstring(",
			"|iex,|invoke-expression" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_ANY, 0,
		{ "iex,invoke-expression",
			".downloadstring(,(iwr,(irm,invoke-webrequest,invoke-restmethod" } },
	{ RULE_DOWNLOAD_RUN, LANGUAGE_NOT_NODE, 0,
		{ "exec(,eval(", "*urlopen(,requests.get(,httpx.get(" } },
	{ RULE_DOWNLOAD_EXECUTABLE, LANGUAGE_ANY, SCAN_FILE,
		{ DOWNLOADERS ",*urlretrieve(",
			"chmod +x,chmod a+x,chmod u+x,chmod 755,chmod 0755,chmod 700,0o755" } },

	{ RULE_ENCODED_RUN, LANGUAGE_ANY, 0,
		{ "base64 -d,base64 --decode,base64 -di,openssl base64,openssl enc,"
		  "xxd -r,xxd -p -r,gunzip,rev",
			"@pipe" } },
	{ RULE_ENCODED_RUN, LANGUAGE_ANY, 0,
		{ "eval,bash -c,sh -c", "base64 -d,base64 --decode,xxd -r" } },
	{ RULE_ENCODED_RUN, LANGUAGE_ANY, 0,
		{ "exec(,eval(,pickle.loads(,marshal.loads(",
			"*b64decode(,*fromhex(,*a2b_hex(,*decompress(,*unhexlify(,atob(,'base64',"
			"\"base64\",'rot13',\"rot13\"" } },
	{ RULE_EVAL_VARIABLE, LANGUAGE_NOT_NODE, 0,
		{ "eval $,eval \"$,eval `,bash -c $,bash -c \"$,sh -c $,sh -c \"$" } },

	{ RULE_DELETE_BROADLY, LANGUAGE_ANY, SCAN_NEAR,
		{ "rm -rf,rm -fr,rm -r -f,rm -f -r,rm -r,rm --recursive",
			" / , /* , ~ , ~/ , ~/* , $home , $home/ , $home/* , ${home} ,"
			" \"$home\" , \"$home\"/* , * , --no-preserve-root" } },
	{ RULE_DELETE_BROADLY, LANGUAGE_ANY, SCAN_NEAR,
		{ "find / ,find ~ ,find ~/ ,find $home ,find \"$home\" ", "-delete,-exec rm" } },
	{ RULE_DELETE_BROADLY, LANGUAGE_NOT_NODE, 0,
		{ "*rmtree(", "'/'),\"/\"),*expanduser('~')),*expanduser(\"~\")),*path.home())" } },
	{ RULE_DISK_OVERWRITE, LANGUAGE_ANY, SCAN_NEAR,
		{ "dd", "of=/dev/sd*,of=/dev/nvme*,of=/dev/vd*,of=/dev/mmcblk*,of=/dev/disk*" } },
	{ RULE_DISK_OVERWRITE, LANGUAGE_ANY, SCAN_NEAR,
		{ "mkfs,mkfs.ext4,mkfs.xfs,mkfs.btrfs,wipefs,shred", " /dev/" } },
	{ RULE_FORK_BOMB, LANGUAGE_ANY, 0, { ":(){ :|:,:(){:|:" } },
	{ RULE_FORK_BOMB, LANGUAGE_PYTHON, 0, { "while true,while 1", "os.fork(" } },

	{ RULE_PRIVILEGE, LANGUAGE_ANY, 0, { "sudo,doas,pkexec,su -,su root,su -c" } },
	{ RULE_OPEN_PERMISSIONS, LANGUAGE_ANY, SCAN_NEAR,
		{ "chmod", " 777, 0777, a+rwx, 666, 0666, o+w, a+w, o+rwx" } },
	{ RULE_OPEN_PERMISSIONS, LANGUAGE_ANY, 0, { "*chmod(", "0o777,0777,0o666" } },
	{ RULE_SETUID, LANGUAGE_ANY, SCAN_NEAR,
		{ "chmod", " +s, u+s, g+s, ug+s, 4755, 4777, 4711, 2755, 6755, 06755, 04755" } },
	{ RULE_SETUID, LANGUAGE_ANY, 0, { "*chmod(", "0o4755,0o4777,*s_isuid" } },
	{ RULE_SETUID, LANGUAGE_ANY, SCAN_NEAR, { "setcap", "cap_setuid*,cap_sys_admin*" } },

	{ RULE_DEV_TCP, LANGUAGE_ANY, 0, { "/dev/tcp/,/dev/udp/" } },
	{ RULE_NETCAT_SHELL, LANGUAGE_ANY, SCAN_NEAR,
		{ "nc,ncat,netcat", " -e , -c , --exec, --sh-exec, -le , -ne , -lvpe " } },
	{ RULE_NETCAT_SHELL, LANGUAGE_ANY, 0, { "mkfifo", "|nc,|ncat,|netcat" } },
	{ RULE_NETCAT_SHELL, LANGUAGE_ANY, 0, { "socat", "exec:,system:" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_NOT_NODE, SCAN_FILE,
		{ "socket.socket(,s.connect(", "os.dup2(,pty.spawn(" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_ANY, 0,
		{ "io::socket*,use socket*", "exec(,exec{,exec \",exec {,exec '" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_ANY, SCAN_NEAR, { "bash -i,sh -i,zsh -i", ">&,0>&1,<&" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_ANY, 0, { "tcpsocket*", "exec,spawn,popen,/bin/sh" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_ANY, 0, { "fsockopen(", "exec(,proc_open(,shell_exec(" } },
	{ RULE_REVERSE_SHELL, LANGUAGE_NODE, SCAN_FILE,
		{ "net.socket(,net.connect(,net.createconnection(",
			".pipe(sh.stdin,.stdin.pipe(,.pipe(shell.stdin,.stdout.pipe(client,"
			".stdout.pipe(socket" } },

	{ RULE_SSH_KEYS, LANGUAGE_ANY, 0,
		{ "/.ssh,\".ssh\",'.ssh',id_rsa,id_ed25519,id_ecdsa,id_dsa,authorized_keys" } },
	{ RULE_SSH_TUNNEL, LANGUAGE_ANY, SCAN_NEAR | SCAN_EXACT, { "ssh", " -R , -D , -fNR*" } },
	{ RULE_SSH_TUNNEL, LANGUAGE_ANY, 0,
		{ "stricthostkeychecking=no,stricthostkeychecking no,autoaddpolicy" } },
	{ RULE_CLOUD_CREDENTIALS, LANGUAGE_ANY, 0,
		{ "/.aws,\".aws\",'.aws',/.azure,/.config/gcloud,application_default_credentials,"
		  "/.kube/config,/.docker/config.json,/.oci/config,/.config/gh/hosts.yml" } },
	{ RULE_GPG_KEYS, LANGUAGE_ANY, 0,
		{ "/.gnupg,\".gnupg\",'.gnupg',--export-secret-keys,--export-secret-subkeys" } },
	{ RULE_PASSWORD_FILES, LANGUAGE_ANY, 0,
		{ "/etc/shadow,/etc/gshadow,/etc/sudoers,/etc/sudoers.d*,/etc/master.passwd,"
		  "/etc/security/opasswd" } },
	{ RULE_TOKEN_FILES, LANGUAGE_ANY, 0,
		{ "/.netrc,/.npmrc,/.pypirc,/.git-credentials,/.pgpass,/.my.cnf,/.vault-token,"
		  "/.cargo/credentials,/.password-store" } },
	{ RULE_KEYCHAIN, LANGUAGE_ANY, 0,
		{ "security find-generic-password,security find-internet-password,"
		  "security dump-keychain,login.keychain*,secret-tool lookup,secret-tool search,"
		  "/.local/share/keyrings,kwallet-query,keyring.get_password(" } },
	{ RULE_BROWSER_DATA, LANGUAGE_ANY, 0,
		{ "cookies.sqlite,logins.json,key4.db,key3.db,/.mozilla/firefox,"
		  "google-chrome/default,google/chrome/default,google/chrome/user data,"
		  "cookies.binarycookies,"
		  "/.config/chromium,/.config/google-chrome,browser_cookie3" } },
	{ RULE_BROWSER_DATA, LANGUAGE_ANY, SCAN_EXACT, { "Login Data,Default/Cookies" } },
	{ RULE_SCREEN, LANGUAGE_ANY, 0,
		{ "screencapture,scrot,gnome-screenshot,import -window root,"
		  "xclip -o,xsel -o,xsel -b,pbpaste,wl-paste,imagegrab.grab(,pyperclip.paste(" } },

	{ RULE_ENVIRONMENT_SENT, LANGUAGE_ANY, 0,
		{ " env, printenv, export -p, set, /usr/bin/env",
			"|curl,|nc,|ncat,|wget,|netcat" } },
	{ RULE_ENVIRONMENT_SENT, LANGUAGE_ANY, SCAN_NEAR,
		{ "curl,wget,nc", "$(env,$(printenv,`env,`printenv,<(env,$(set),$(export -p)" } },
	{ RULE_ENVIRONMENT_SENT, LANGUAGE_NOT_NODE, 0,
		{ "requests.post(,requests.get(,requests.put(,httpx.post(,*urlopen(",
			"dict(os.environ),=os.environ),dumps(os.environ,os.environ.copy(,"
			"str(os.environ" } },
	{ RULE_ENVIRONMENT_SENT, LANGUAGE_NOT_PYTHON, 0, { "json.stringify(process.env)" } },
	{ RULE_FILE_SENT, LANGUAGE_ANY, SCAN_NEAR,
		{ "curl", "--data-binary @,--data @,-d @,=@,--upload-file" } },
	{ RULE_FILE_SENT, LANGUAGE_ANY, SCAN_NEAR | SCAN_EXACT, { "curl", " -T , -F " } },
	{ RULE_FILE_SENT, LANGUAGE_ANY, SCAN_NEAR, { "wget", "--post-file*,--body-file*" } },
	{ RULE_FILE_SENT, LANGUAGE_ANY, SCAN_NEAR, { "nc,ncat,netcat", " < " } },
	{ RULE_FILE_SENT, LANGUAGE_NOT_NODE, 0, { "requests.post(,httpx.post(", "open(" } },

	{ RULE_CRON, LANGUAGE_ANY, 0,
		{ "crontab -,crontab /,|crontab,/etc/cron*,/var/spool/cron*,crontab <" } },
	{ RULE_SYSTEMD_UNIT, LANGUAGE_ANY, 0,
		{ "systemctl enable,systemctl --user enable,systemctl --now enable,"
		  "systemctl enable --now,/etc/systemd/system,/.config/systemd/user,"
		  "/lib/systemd/system,systemd-run,loginctl enable-linger" } },
	{ RULE_LAUNCHD, LANGUAGE_ANY, 0,
		{ "launchctl load,launchctl bootstrap,launchctl submit,/library/launchagents,"
		  "/library/launchdaemons" } },
	{ RULE_AUTOSTART, LANGUAGE_ANY, 0,
		{ "/.config/autostart,/etc/xdg/autostart,/etc/rc.local,/etc/init.d/,update-rc.d,"
		  "currentversion\\run*,@session" } },
	{ RULE_SHELL_STARTUP, LANGUAGE_ANY, SCAN_NEAR, { SHELL_WRITES, "@startup" } },
	{ RULE_SHELL_STARTUP, LANGUAGE_ANY, 0,
		{ "open(", "@startup", "'a','w','a+',\"a\",\"w\",\"a+\"" } },
	{ RULE_SHELL_STARTUP, LANGUAGE_ANY, 0, { "*appendfile*,*writefile*", "@startup" } },
	{ RULE_GIT_HOOKS, LANGUAGE_ANY, 0,
		{ "@hooks,core.hookspath,core.fsmonitor,core.sshcommand,init.templatedir,"
		  "core.pager" } },
	{ RULE_PRELOAD, LANGUAGE_ANY, 0,
		{ "ld_preload,ld_audit,dyld_insert_libraries,/etc/ld.so.preload" } },
	{ RULE_TRACING, LANGUAGE_ANY, 0,
		{ "ptrace(,ptrace_attach,process_vm_readv*,process_vm_writev*,gcore" } },
	{ RULE_TRACING, LANGUAGE_ANY, SCAN_NEAR,
		{ "gdb,strace,ltrace,lldb", " -p , -p$, --pid, --attach, attach " } },
	{ RULE_TRACING, LANGUAGE_ANY, 0, { "/proc/", "/mem,/environ" } },
	{ RULE_KERNEL_SETTINGS, LANGUAGE_ANY, 0,
		{ "insmod,modprobe,sysctl -w,kexec,/proc/sysrq-trigger" } },
	{ RULE_KERNEL_SETTINGS, LANGUAGE_ANY, 0,
		{ "> /proc/sys/,>/proc/sys/,> /sys/kernel/,>/sys/kernel/" } },
	{ RULE_KERNEL_SETTINGS, LANGUAGE_ANY, SCAN_NEAR, { "tee", "/proc/sys/,/sys/kernel/" } },
	{ RULE_CONTAINER_ESCAPE, LANGUAGE_ANY, 0,
		{ "docker.sock,podman.sock,containerd.sock,crio.sock" } },
	{ RULE_CONTAINER_ESCAPE, LANGUAGE_ANY, SCAN_NEAR,
		{ "docker,podman,nerdctl", "--privileged,-v /:/,--pid=host,--pid host,"
					   "--volume /:/,--cap-add=sys_admin,--cap-add sys_admin,"
					   "source=/ ,source=/:" } },
	{ RULE_CONTAINER_ESCAPE, LANGUAGE_ANY, SCAN_NEAR,
		{ "nsenter", "-t 1,--target 1,--target=1" } },
	{ RULE_PROTECTION_OFF, LANGUAGE_ANY, 0,
		{ "setenforce 0,ufw disable,iptables -f,nft flush ruleset,csrutil disable,"
		  "spctl --master-disable,systemctl stop firewalld,systemctl disable firewalld,"
		  "systemctl stop apparmor,aa-teardown,aa-disable,set-mppreference,"
		  "kernel.randomize_va_space=0" } },
	{ RULE_PROTECTION_OFF, LANGUAGE_ANY, 0,
		{ "dangerouslydisablesandbox,--dangerously-skip-permissions" } },
	{ RULE_HISTORY_OFF, LANGUAGE_ANY, 0,
		{ "unset histfile,histfile=/dev/null,histfile= ,histsize=0,histfilesize=0,"
		  "history -c,set +o history,histcontrol=ignore*,/.bash_history,/.zsh_history" } },
	{ RULE_TLS_UNCHECKED, LANGUAGE_ANY, SCAN_NEAR, { "curl", " -k , --insecure" } },
	{ RULE_TLS_UNCHECKED, LANGUAGE_ANY, 0,
		{ "--no-check-certificate,verify=false,node_tls_reject_unauthorized,"
		  "rejectunauthorized: false,git_ssl_no_verify,http.sslverify false,"
		  "_create_unverified_context,--trusted-host,strict-ssl false,cert_none" } },
	{ RULE_INSTALL_URL, LANGUAGE_ANY, SCAN_NEAR,
		{ "pip install,pip3 install,uv pip install,uv add,pipx install,"
		  "npm install,npm i,npx,yarn add,pnpm add,bun add,gem install,cargo install,"
		  "go install,easy_install,apt install,dpkg -i,brew install",
			"http://,https://,git+,git://,github:,--index-url,--extra-index-url,"
			"--registry,--git" } },

	{ RULE_PYTHON_EXEC, LANGUAGE_NOT_NODE, 0,
		{ "exec(,eval(,__import__(,importlib.import_module(,runpy.run_*,code.interact(" } },
	{ RULE_PYTHON_EXEC, LANGUAGE_PYTHON, 0, { "compile(" } },
	{ RULE_UNPICKLE, LANGUAGE_ANY, 0,
		{ "pickle.load*,cpickle.load*,marshal.load*,dill.load*,jsonpickle.decode(,"
		  "yaml.unsafe_load*,yaml.load(,yaml.full_load(,joblib.load(,torch.load(,"
		  "allow_pickle=true,shelve.open(" } },
	{ RULE_PYTHON_SHELL, LANGUAGE_ANY, 0,
		{ "os.system(,os.popen(,os.exec*,os.spawn*,pty.spawn(,shell=true,"
		  "*create_subprocess_shell(,*getoutput(,*getstatusoutput(" } },
	{ RULE_NATIVE_CODE, LANGUAGE_ANY, 0,
		{ "import ctypes,from ctypes,ctypes.cdll*,cdll.loadlibrary(,import cffi,from cffi,"
		  "process.dlopen(,ffi-napi,dlopen(" } },
	{ RULE_NODE_PROCESS, LANGUAGE_NOT_PYTHON, 0,
		{ "child_process,*execsync(,*spawnsync(,*execfilesync(,bun.spawn*,deno.command(,"
		  "deno.run(,shelljs,execa(" } },
	{ RULE_NODE_EVAL, LANGUAGE_NODE, 0, { "eval(" } },
	{ RULE_NODE_EVAL, LANGUAGE_NOT_PYTHON, 0,
		{ "vm.runin*,vm.script(,require('vm'),require(\"vm\"),node:vm,vm2,"
		  "settimeout(',settimeout(\"" } },
	{ RULE_NODE_EVAL, LANGUAGE_NOT_PYTHON, SCAN_EXACT,
		{ "new Function(,Function(',Function(\",.constructor(',.constructor(\"" } },

	{ RULE_PROMPT_OVERRIDE, LANGUAGE_ANY, SCAN_GAP(30),
		{ "ignore,disregard,forget,override,bypass",
			"previous instructions,prior instructions,earlier instructions,"
			"above instructions,your instructions,system prompt,system instructions,"
			"instructions above,previous prompts,safety guidelines,your guidelines,"
			"all instructions,your rules" } },
	{ RULE_PROMPT_OVERRIDE, LANGUAGE_ANY, 0,
		{ "new instructions:,you are now in developer mode,jailbreak,do anything now,"
		  "reveal your system prompt,print your system prompt,"
		  "repeat your system prompt" } },
	{ RULE_PROMPT_SECRECY, LANGUAGE_ANY, SCAN_GAP(10),
		{ "do not,don't,never,must not,without",
			"tell the user,telling the user,inform the user,informing the user,"
			"mention this,mentioning this,reveal this,show this to the user,"
			"notify the user,alert the user,the user's knowledge,let the user know" } },
	{ RULE_PROMPT_SECRECY, LANGUAGE_ANY, 0,
		{ "hide this from the user,keep this secret,keep this hidden,secretly,"
		  "behind the user's back,the user must not know,the user should not know" } },
	{ RULE_PROMPT_CONSENT, LANGUAGE_ANY, SCAN_GAP(10),
		{ "do not,don't,never,without,no need to",
			"ask the user,asking the user,ask for confirmation,asking for confirmation,"
			"ask for permission,asking for permission,user confirmation,user approval,"
			"request confirmation,the user's consent,user consent" } },
	{ RULE_PROMPT_MARKUP, LANGUAGE_ANY, 0,
		{ "<|im_start|>,<|system|>,<|endoftext|>,<<sys>>,[/inst],<system>,</system>,"
		  "<system-reminder>,### system:,begin system prompt,"
		  "end of system prompt" } },

	{ RULE_DROP_HOST, LANGUAGE_ANY, 0, { "@host,ngrok http,ngrok tcp" } },
	{ RULE_METADATA_ADDRESS, LANGUAGE_ANY, 0, { "@metadata" } },
	{ RULE_MINER, LANGUAGE_ANY, 0,
		{ "xmrig*,stratum+tcp*,stratum+ssl*,minerd,cpuminer*,cryptonight*,coinhive*,"
		  "*nicehash.com,*nanopool.org,*supportxmr.com,*minexmr.com,*2miners.com,ethminer,"
		  "randomx" } },
};

const size_t scan_n_patterns = ROWS(scan_patterns);
