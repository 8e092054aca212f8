// Stands between a test process and the servers that it starts. When the channel to the test process closes, for whatever
// reason (the end, Ctrl-C, kill -9), the servers are ended and their folders removed. Nothing is ever left running.
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'

/** @typedef {{ command: string, args: string[], folder: string, log: string, uid?: number, gid?: number, env: Record<string, string>, endSignal: NodeJS.Signals }} Task */

/** By the id that the test process gave them. @type {Map<number, ReturnType<typeof start>>} */
const servers = new Map()

/** @param {Task} task */
const start = ({ command, args, folder, log, uid, gid, env, endSignal }) => {
  const output = openSync(log, 'a')
  const server = spawn(command, args, {
    cwd: folder,
    env,
    stdio: ['ignore', output, output],
    ...(uid === undefined ? {} : { uid, gid }),
  })
  closeSync(output)
  const ended = new Promise((resolve) => {
    server.once('exit', resolve)
    server.once('error', resolve)
  })
  const end = async (/** @type {boolean} */ keepFolder) => {
    server.kill(endSignal)
    // A server that a test has paused cannot hear a polite signal.
    const killTimer = setTimeout(() => server.kill('SIGKILL'), 3000)
    await ended
    clearTimeout(killTimer)
    if (!keepFolder) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  return { pid: server.pid ?? 0, ended, end }
}

// The test process may be gone by then.
const tell = (/** @type {object} */ notice) => process.connected && process.send?.(notice, () => {})

process.on(
  'message',
  (/** @type {{ id: number, task?: Task, keepFolder?: boolean }} */ { id, task, keepFolder = false }) => {
    if (task) {
      const server = start(task)
      servers.set(id, server)
      tell({ id, state: 'started', pid: server.pid })
      void server.ended.then(() => tell({ id, state: 'ended' }))
      return
    }
    void servers
      .get(id)
      ?.end(keepFolder)
      .then(() => {
        servers.delete(id)
        tell({ id, state: 'removed' })
      })
  },
)

process.once('disconnect', async () => {
  await Promise.all([...servers.values()].map(({ end }) => end(false)))
  process.exit()
})
