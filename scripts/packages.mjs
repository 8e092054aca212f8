// Builds the packages in packages/: for each file in `exports` of a package.json, `dist/x.js` is bundled from `src/x.ts`, and
// its types stand beside it. A package needs nothing else of this repository: types of the contract are written out.
import { execFile } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { contractTypes } from './contract-types.mjs'
import { filesBelow, publish } from './publish.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {{ name: string, folder: string, entries: string[], peers: string[] }} Package */

/** @returns {Promise<Package[]>} with the entry points of each: `client` is built from `src/client.ts` */
export const readPackages = async () => {
  const folders = (await readdir(join(home, 'packages'), { withFileTypes: true })).filter((each) => each.isDirectory())
  return Promise.all(
    folders.map(async ({ name: folder }) => {
      const text = await readFile(join(home, 'packages', folder, 'package.json'), 'utf8')
      /** @type {{ name: string, exports: Record<string, string | { default: string }>, peerDependencies?: object }} */
      const { name, exports, peerDependencies = {} } = JSON.parse(text)
      const files = Object.values(exports).map((each) => (typeof each === 'string' ? each : each.default))
      return {
        name,
        folder,
        peers: Object.keys(peerDependencies),
        entries: files.filter((file) => file.endsWith('.js')).map((file) => basename(file, '.js')),
      }
    }),
  )
}

/** @param {Pick<Package, 'folder' | 'entries'> & { peers?: string[] }} of @param {{ minify: boolean }} options */
export const bundlePackage = async ({ folder, entries, peers = [] }, { minify }) => {
  const { outputFiles } = await build({
    absWorkingDir: join(home, 'packages', folder),
    entryPoints: entries.map((entry) => `src/${entry}.ts`),
    outdir: 'dist',
    bundle: true,
    splitting: entries.length > 1,
    chunkNames: '[name]-[hash]',
    format: 'esm',
    platform: 'neutral',
    external: ['node:*', ...peers],
    target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
    minify,
    write: false,
    logLevel: 'warning',
  })
  return outputFiles
}

/** @returns {Promise<number>} how many files changed */
export const buildPackages = async () => {
  const [packages, declarations] = await Promise.all([readPackages(), declarationFiles()])
  const contract = await contractTypes()
  const changes = await Promise.all(
    packages.map(async (each) => {
      const scripts = (await bundlePackage(each, { minify: false })).map(({ path, contents }) => [
        basename(path),
        contents,
      ])
      const types = declarations.get(each.folder) ?? []
      const needsContract = types.some(([, text]) => text.includes("/contract.js'"))
      const texts = needsContract ? [...types, ['contract.d.ts', contract]] : types
      const files = [...scripts, ...texts.map(([path, text]) => [path, Buffer.from(`${text}`)])]
      return publish({
        folder: join(home, 'packages', each.folder, 'dist'),
        files: new Map(/** @type {[string, Uint8Array][]} */ (files)),
      })
    }),
  )
  return changes.reduce((sum, each) => sum + each, 0)
}

/**
 * The types of all packages, by their folders. Imports of the contract are replaced by imports of the package's own `contract.d.ts`.
 * @returns {Promise<Map<string, [path: string, text: string][]>>}
 */
const declarationFiles = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-types-'))
  try {
    const compiler = join(home, 'node_modules/typescript/bin/tsc')
    await promisify(execFile)(process.execPath, [compiler, '-p', 'packages/tsconfig.json', '--outDir', folder], {
      cwd: home,
    })
    /** @type {Map<string, [string, string][]>} */
    const filesByPackage = new Map()
    for (const path of await filesBelow(join(folder, 'packages'))) {
      const [name = '', , ...rest] = path.split('/')
      // A file beside the packages, such as packages/answers.ts: the bundler copies it, and it has no types for others.
      if (rest.length === 0) continue
      const text = await readFile(join(folder, 'packages', path), 'utf8')
      if (text.includes(`${'../'.repeat(rest.length + 1)}`)) throw new Error(`The types of ${path} leave their package`)
      const module = rest.length > 1 ? `${'../'.repeat(rest.length - 1)}contract.js` : './contract.js'
      const ownText = text.replaceAll(/(['"])#contract\/[\w-]+\.js\1/g, `'${module}'`)
      filesByPackage.set(name, [...(filesByPackage.get(name) ?? []), [rest.join('/'), ownText]])
    }
    return filesByPackage
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) {
  const changes = await buildPackages()
  if (changes > 0) console.log(`Built packages/: ${changes} ${changes === 1 ? 'file' : 'files'} changed`)
}
