// Bundles src/ with its dependencies, because Node needs a millisecond or more for each module that it finds, reads and links, and a
// start would load a thousand of them.
import { build } from 'esbuild'
import { external } from './external-packages.mjs'
import { filesBelow } from './publish.mjs'

/** @typedef {{ home: string, folder: string }} Folders the output goes into `folder` */

/** The program, the module by which `@latchkey/testing` starts it, and what the build of the image runs. */
const entries = ['src/main.ts', 'src/testing.ts', 'src/image-cluster.ts']

/** @type {(folders: Folders) => import('esbuild').BuildOptions & { write: false }} */
const sharedOptions = ({ home, folder }) => ({
  absWorkingDir: home,
  outbase: 'src',
  outdir: folder,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  write: false,
  logLevel: 'warning',
})

/**
 * Bundles the program and the files of its threads. A module that is imported with `import()` becomes a file of its own in parts/,
 * which is read when it is needed.
 * @param {Folders} folders
 */
export const bundleProgram = async (folders) => {
  const sources = await sourceFiles(folders)
  const { outputFiles } = await build({
    ...sharedOptions(folders),
    entryPoints: sources.filter((path) => entries.includes(path) || path.endsWith('.worker.ts')),
    chunkNames: 'parts/[name]-[hash]',
    bundle: true,
    splitting: true,
    // Less text to read at each start. The source maps still name the lines of the sources.
    minifyWhitespace: true,
    external,
    // pg looks at `navigator` to recognise Cloudflare. Node 20 has no `navigator`, and pg would load all of Node's fetch instead.
    define: { navigator: '{"userAgent":"Node.js"}' },
    sourcemap: true,
    sourcesContent: false,
    // Dependencies in the older format call require() for Node's own modules.
    banner: {
      js: "import { createRequire as createRequireHere } from 'node:module'\nconst require = createRequireHere(import.meta.url)",
    },
  })
  return outputFiles
}

/**
 * Compiles each source file by itself, for tools and tests that need one of them in a process of their own. These files
 * are no part of the program, and are not shipped.
 * @param {Folders} folders
 */
export const compileModules = async (folders) => {
  const { outputFiles } = await build({
    ...sharedOptions(folders),
    entryPoints: await sourceFiles(folders),
  })
  return outputFiles
}

/** @param {Pick<Folders, 'home'>} folders */
const sourceFiles = async ({ home }) => (await filesBelow(`${home}/src`)).filter(isModule).map((path) => `src/${path}`)

/** @type {(path: string) => boolean} */
const isModule = (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.d.ts')
