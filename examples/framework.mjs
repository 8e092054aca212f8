// Starts an application that has an installation of its own: what its build has made, or otherwise its development server.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

const { PORT = '4000', APP_URL = '' } = process.env

/**
 * @typedef {{ start: string[], dev: string[], built: string, env?: Record<string, string> }} Programs `built` is a file of the build
 * @param {string} home the address of the folder
 * @param {(port: string, appUrl: string) => Programs} programsFor
 */
export const startFramework = (home, programsFor) => {
  const folder = fileURLToPath(new URL('.', home))
  const name = basename(folder)
  const { start, dev, built, env } = programsFor(PORT, APP_URL)
  if (!existsSync(`${folder}node_modules`)) {
    console.error(`First run: npm install --prefix examples/${name} --install-links`)
    process.exit(1)
  }
  const program = spawn(process.execPath, existsSync(folder + built) ? start : dev, {
    cwd: folder,
    env: { ...process.env, HOST: 'localhost', ...env },
    stdio: 'inherit',
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => program.kill('SIGTERM'))
  program.once('spawn', () => console.log(`${name} starts at ${APP_URL}`))
  program.once('exit', (code) => {
    process.exitCode = code ?? 0
  })
}
