// Stands between the tests and a server they start. Its input is a pipe from the test process: when that closes, for
// whatever reason (the end, Ctrl-C, kill -9), the server is ended and its folder removed. Nothing is ever left running.
import { spawn } from 'node:child_process'
import { openSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/** @type {{ command: string, args: string[], folder: string, log: string, uid?: number, gid?: number, env?: Record<string, string>, endSignal: NodeJS.Signals }} */
const task = JSON.parse(process.argv[2] ?? '')
const log = openSync(task.log, 'a')
const server = spawn(task.command, task.args, {
  cwd: task.folder,
  env: { ...process.env, ...task.env },
  stdio: ['ignore', log, log],
  ...(task.uid === undefined ? {} : { uid: task.uid, gid: task.gid }),
})

const ended = new Promise((resolve) => {
  server.once('exit', resolve)
  server.once('error', resolve)
})

const endServer = async () => {
  server.kill(task.endSignal)
  // A server that a test has paused cannot hear a polite signal.
  const killTimer = setTimeout(() => server.kill('SIGKILL'), 3000)
  await ended
  clearTimeout(killTimer)
}

let keepFolder = false
process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  keepFolder = text.includes('keep')
})
const inputClosed = new Promise((resolve) => process.stdin.once('end', resolve))

// Written last, when the input is already being watched. The reader may be gone by the time the server ends.
process.stdout.on('error', () => {})
process.stdout.write(`started ${server.pid ?? 0}\n`)
void ended.then(() => process.stdout.write('ended\n'))

await inputClosed
await endServer()
if (!keepFolder) await rm(task.folder, { recursive: true, force: true, maxRetries: 3 })
process.exit()
