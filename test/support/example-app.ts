import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until } from './until.js'

const run = promisify(execFile)
const home = fileURLToPath(new URL('../..', import.meta.url))
const made = /\/(?:node_modules|\.astro|\.next|\.nuxt|\.output|\.svelte-kit|build|dist|package-lock\.json)$/
const plain = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ASTRO_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
}

/** An example in a folder of its own, with the packages as npm would publish them. */
export const installExample = async (name: string, packages: string[]) => {
  const folder = await mkdtemp(join(tmpdir(), `latchkey-${name}-`))
  await cp(join(home, 'examples', name), folder, { recursive: true, filter: (path) => !made.test(path) })
  const packing = ['--ignore-scripts', '--json', '--pack-destination', folder]
  const { stdout } = await run('npm', ['pack', ...packages.flatMap((each) => ['--workspace', each]), ...packing], {
    cwd: home,
  })
  const packed = JSON.parse(stdout) as { name: string; filename: string }[]
  const file = join(folder, 'package.json')
  const description = JSON.parse(await readFile(file, 'utf8'))
  for (const each of packed) description.dependencies[each.name] = `file:./${each.filename}`
  await writeFile(file, JSON.stringify(description))
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: folder, maxBuffer: 2 ** 26 })
  return folder
}

/** Without a setting and without a secret: as in the image that a build server makes. */
export const buildExample = (folder: string) =>
  run('npm', ['run', 'build'], { cwd: folder, env: { ...plain, NODE_ENV: 'production' }, maxBuffer: 2 ** 26 })

type Running = { folder: string; url: string; program: string[]; settings: Record<string, string> }

/** Waits for its first page. */
export const startExample = async ({ folder, url, program, settings }: Running) => {
  const { port } = new URL(url)
  const server = spawn(process.execPath, program, {
    cwd: folder,
    env: { ...plain, PORT: port, HOST: '127.0.0.1', NODE_ENV: 'production', APP_URL: url, ...settings },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const answers = () =>
    fetch(url)
      .then(({ ok }) => ok)
      .catch(() => false)
  await until(`${url} answers`, answers, 60_000)
  return async () => {
    server.kill('SIGTERM')
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
}
