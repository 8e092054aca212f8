// `npm run dev` builds and serves, and does both again when a source changes. Ctrl-C stops it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, showFault } from './build.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const watchedPaths = ['src', 'web', 'packages', 'migrations', '.env'].map((name) => join(home, name))
const quietMilliseconds = 60
const killTimeout = 5000

/** @type {import('node:child_process').ChildProcess | undefined} */
let service
let isEnding = false

const start = () => {
  const child = spawn(process.execPath, ['--enable-source-maps', 'dist/main.js', 'serve'], {
    cwd: home,
    stdio: 'inherit',
  })
  service = child
  child.once('exit', (code, signal) => {
    if (service !== child) return
    service = undefined
    if (!isEnding) console.log(`The service ended (${signal ?? code}). It starts again at the next change.`)
  })
}

const stop = async () => {
  const child = service
  service = undefined
  if (!child) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const killTimer = setTimeout(() => child.kill('SIGKILL'), killTimeout)
  await exit
  clearTimeout(killTimer)
}

// The old service runs until the new build succeeds.
const reload = async () => {
  const changes = await build()
  if (isEnding || (changes === 0 && service && !mustRestart)) return
  mustRestart = false
  await stop()
  if (!isEnding) start()
}

let mustRestart = false
let work = Promise.resolve()
/** @type {NodeJS.Timeout | undefined} */
let reloadTimer

/** @type {(path: string) => void} */
const onChange = (path) => {
  // The service reads these files at its start, so they need a restart and no build.
  if (/\.(sql|env)$/.test(path)) mustRestart = true
  clearTimeout(reloadTimer)
  reloadTimer = setTimeout(() => {
    work = work.then(reload).catch(showFault)
  }, quietMilliseconds)
}

const end = async () => {
  if (isEnding) return
  isEnding = true
  await stop()
  process.exit(0)
}

process.on('SIGINT', () => void end())
process.on('SIGTERM', () => void end())

for (const path of watchedPaths) {
  if (existsSync(path)) watch(path, { recursive: true }, (_event, name) => onChange(name ?? path))
}
work = work.then(reload).catch(showFault)
await work
