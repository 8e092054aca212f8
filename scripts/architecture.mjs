// `node scripts/architecture.mjs` checks the rules of ARCHITECTURE.md in every file of ours.
import { realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { readModule } from './architecture/modules.mjs'
import { emptyRings, findingsIn } from './architecture/rules.mjs'
import { filesBelow } from './publish.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))
const folders = ['src', 'web', 'test', 'scripts', 'bench', 'packages', 'examples']

const readModules = async () => {
  const paths = await Promise.all(
    folders.map(async (folder) => (await filesBelow(join(home, folder))).map((path) => `${folder}/${path}`)),
  )
  const ours = paths
    .flat()
    .filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.endsWith('.d.ts') && !/\/(node_modules|dist)\//.test(path))
  return Promise.all(ours.map(async (path) => readModule(path, await readFile(join(home, path), 'utf8'))))
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) {
  const modules = await readModules()
  const lines = findingsIn(modules)
  for (const line of lines) console.log(line)
  console.log(`${modules.length} files, ${lines.length} findings`)
  const ringsWithoutFiles = emptyRings(modules)
  if (ringsWithoutFiles.length > 0) console.log(`No file was found in: ${ringsWithoutFiles.join(', ')}`)
  process.exitCode = lines.length === 0 && ringsWithoutFiles.length === 0 ? 0 : 1
}
