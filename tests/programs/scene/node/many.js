// SPDX-License-Identifier: Apache-2.0
// What programs in node use of the system, each answer on one line.
const fs = require('fs'), os = require('os'), path = require('path'), http = require('http');
const crypto = require('crypto'), zlib = require('zlib'), net = require('net');
const { execFileSync, spawn, fork } = require('child_process');
const { Worker, isMainThread, parentPort } = require('worker_threads');

function files() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'many-'));
  fs.writeFileSync(path.join(dir, 'a'), 'text');
  fs.renameSync(path.join(dir, 'a'), path.join(dir, 'b'));
  console.log('fs:', fs.readdirSync(dir), fs.statSync(path.join(dir, 'b')).size);
  fs.rmSync(dir, { recursive: true });
}

const children = () => new Promise((done) => {
  console.log('execFileSync:', execFileSync('sh', ['-c', 'echo out']).toString().trim());
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdout.on('data', (data) => console.log('spawn:', data.toString()));
  child.on('close', (code) => {
    console.log('status:', code);
    const forked = fork(__filename, ['child']);
    forked.on('message', (m) => console.log('fork:', m));
    forked.on('close', done);
  });
  child.stdin.end('through a pipe');
});

const worker = () => new Promise((done) => {
  const w = new Worker(__filename);
  w.on('message', (m) => console.log('worker:', m));
  w.on('exit', done);
});

const web = () => new Promise((done) => {
  const server = http.createServer((request, response) => response.end('you asked for ' + request.url));
  server.listen(0, '127.0.0.1', async () => {
    const answer = await fetch(`http://127.0.0.1:${server.address().port}/page`);
    console.log('http:', answer.status, await answer.text());
    server.closeAllConnections();
    server.close(done);
  });
});

const local = () => new Promise((done) => {
  const name = path.join(process.cwd(), 's');
  const server = net.createServer((socket) => socket.end('by a socket in the folder'));
  server.listen(name, () => net.connect(name).on('data', (data) => {
    console.log('unix:', data.toString());
    server.close(done);
  }));
});

const watch = () => new Promise((done) => {
  const watcher = fs.watch('.', () => { watcher.close(); console.log('watch: seen'); done(); });
  fs.writeFileSync('watched', '');
});

async function main() {
  files();
  await children();
  await worker();
  await web();
  await local();
  await watch();
  console.log('sha256:', crypto.createHash('sha256').update('corral').digest('hex'));
  const { publicKey, privateKey } = crypto.generateKeyPairSync('ed25519');
  console.log('sign:', crypto.verify(null, Buffer.from('a'), publicKey, crypto.sign(null, Buffer.from('a'), privateKey)));
  console.log('zlib:', zlib.gunzipSync(zlib.gzipSync('squeezed')).toString());
  console.log('cpus:', os.cpus().length > 0, os.homedir() === process.env.HOME);
}

if (!isMainThread)
  parentPort.postMessage('from a thread');
else if (process.argv[2] === 'child')
  process.send('from a child');
else
  main();
