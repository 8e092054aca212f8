// What the build makes of src/. The program is bundled with its dependencies: Node needs a millisecond or more for each
// module that it finds, reads and links, and a start would load a thousand of them.
import { build } from 'esbuild'
import { external } from './external-packages.mjs'
import { filesBelow } from './publish.mjs'

/** @typedef {{ home: string, dist: string }} Place */

/** The program, and what `@latchkey/testing` starts it by. */
const entries = ['src/main.ts', 'src/testing.ts']

/** @type {(place: Place) => import('esbuild').BuildOptions & { write: false }} */
const shared = ({ home, dist }) => ({
  absWorkingDir: home,
  outbase: 'src',
  outdir: dist,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  write: false,
  logLevel: 'warning',
})

/**
 * The program, and the files of its threads. What is imported with `import()` becomes a file of its own in parts/, which is
 * read when it is needed.
 * @param {Place} place
 */
export const bundleProgram = async (place) => {
  const sources = await sourceFiles(place)
  const { outputFiles } = await build({
    ...shared(place),
    entryPoints: sources.filter((path) => entries.includes(path) || path.endsWith('.worker.ts')),
    chunkNames: 'parts/[name]-[hash]',
    bundle: true,
    splitting: true,
    external,
    // pg looks for this to recognise Cloudflare. Node 20 has none, and pg would load all of Node's fetch instead.
    define: { navigator: '{"userAgent":"Node.js"}' },
    sourcemap: true,
    sourcesContent: false,
    // For dependencies in the older format, which call require() for Node's own modules.
    banner: {
      js: "import { createRequire as createRequireHere } from 'node:module'\nconst require = createRequireHere(import.meta.url)",
    },
  })
  return outputFiles
}

/**
 * Each source file by itself, in modules/, for tools and tests that need one of them in a process of their own. They are not
 * a part of the program, and not shipped.
 * @param {Place} place
 */
export const compileModules = async (place) => {
  const { outputFiles } = await build({
    ...shared(place),
    entryPoints: await sourceFiles(place),
    outdir: `${place.dist}/modules`,
  })
  return outputFiles
}

/** @param {Place} place */
const sourceFiles = async ({ home }) => (await filesBelow(`${home}/src`)).filter(isModule).map((path) => `src/${path}`)

/** @type {(path: string) => boolean} */
const isModule = (path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.endsWith('.d.ts')
