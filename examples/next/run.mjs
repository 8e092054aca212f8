// Starts the application if it was built, and otherwise the development server.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const program = `${folder}node_modules/next/dist/bin/next`
const { PORT = '4000', APP_URL = '' } = process.env
if (!existsSync(program)) {
  console.error('First run: npm install --prefix examples/next --install-links')
  process.exit(1)
}
const mode = existsSync(`${folder}.next/BUILD_ID`) ? 'start' : 'dev'
const next = spawn(process.execPath, [program, mode, '-p', PORT, '-H', 'localhost'], { cwd: folder, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => next.kill('SIGTERM'))
next.once('spawn', () => console.log(`Next starts at ${APP_URL}`))
next.once('exit', (code) => {
  process.exitCode = code ?? 0
})
