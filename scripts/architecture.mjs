// `node scripts/architecture.mjs` checks who imports what, by the rules of ARCHITECTURE.md. The linters check what can be seen in one file:
// lengths, default exports, process.env, who begins sessions, how routes refuse and pages ask (.oxlintrc.json, biome.json).
import { readFileSync, realpathSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { filesBelow } from './publish.mjs'
import { filesThatKnowRequests, registrars, rooms } from './rooms.mjs'

/** `target` is empty unless a file of ours is imported. @typedef {{ specifier: string, target: string, late: boolean, typeOnly: boolean,
 * line: number }} Import */
/** @typedef {{ path: string, imports: Import[] }} Module */
/** Every module by its path. @typedef {Map<string, Module>} Tree */
/** Something that is wrong, in words. @typedef {string | false | undefined} Fault */

const home = fileURLToPath(new URL('..', import.meta.url))
const folders = ['src', 'web', 'test', 'scripts', 'bench', 'packages', 'examples']

/** What is wrong with an import. @type {Record<string, (path: string, imported: Import, tree: Tree) => Fault>} */
const importRules = {
  // A request crosses rooms, so routes may import any room.
  rulesGoDown: (path, { target }) =>
    isProduct(path) &&
    target !== '' &&
    !(isSource(target) && (isRoutes(path) || rankOf(target) >= rankOf(path))) &&
    `${roomOf(path)} must not import ${target}`,

  // Otherwise a command loads the web server.
  nobodyImportsRoutes: (path, { target }) =>
    isProduct(path) &&
    isRoutes(target) &&
    !registrars.some((registrar) => path === registrar.path && target.startsWith(registrar.folder)) &&
    `routes are imported only to be registered, not ${target}`,

  rulesKnowNoRequest: (path, { specifier }) =>
    isRuleWithoutRequests(path) &&
    !filesThatKnowRequests.includes(path) &&
    isFastify(specifier) &&
    `requests are known to http, to routes and to filesThatKnowRequests: ${specifier}`,

  // The tests of contracts run every statement.
  storesStayHome: (path, { target }) =>
    target.endsWith('.store.ts') &&
    !(isSource(path) && roomOf(target) === roomOf(path)) &&
    !path.startsWith('test/contracts/') &&
    `a store is imported only from its own room: ${target}`,

  // Browsers, servers and clients in other programs load the contract, so nothing in it may need Node.
  contractIsPure: (path, { target, specifier }) =>
    isProduct(path) &&
    roomOf(path) === 'contract' &&
    target === '' &&
    specifier !== 'typebox' &&
    `the contract imports itself, lib and typebox, not ${specifier}`,

  browsersLoadNoTypebox: (path, { target, typeOnly }, tree) =>
    /^(web|packages)\//.test(path) &&
    !isTest(path) &&
    isSource(target) &&
    !typeOnly &&
    reaches(target, 'typebox', tree, ({ typeOnly }) => !typeOnly) &&
    `${target} brings TypeBox along: import its types only, or split it`,

  // A package is published by itself. The build copies into it what it uses of the contract, and the files that stand beside the packages.
  packagesStandAlone: (path, { target }) =>
    path.startsWith('packages/') &&
    !isTest(path) &&
    target !== '' &&
    !target.startsWith(`${homeOf(path)}/`) &&
    !/^src\/contract\/|^packages\/[^/]+\.ts$/.test(target) &&
    `a package imports itself and src/contract, not ${target}`,

  pagesKnowTheContract: (path, { target }) =>
    path.startsWith('web/') &&
    !isTest(path) &&
    isSource(target) &&
    !target.startsWith('src/contract/') &&
    `pages import only src/contract of src, not ${target}`,

  // Inside of src/ and of each package paths are relative, because their files are also compiled one by one.
  importsByAlias: (path, { target, specifier }) => {
    const alias = aliases.find(({ folder }) => target.startsWith(folder))
    const isOutside = alias && homeOf(alias.folder) !== homeOf(path)
    return (
      isOutside && !specifier.startsWith(alias.prefix) && `import ${target} by its alias: see paths in tsconfig.json`
    )
  },

  // A service in production does not even load these files.
  devProvidersAreLoadedLate: (path, { target, late, typeOnly }) =>
    isProduct(path) &&
    !path.startsWith(devProviders) &&
    target.startsWith(devProviders) &&
    !(typeOnly || (late && roomOf(path) === 'providers')) &&
    `only src/providers loads ${target}, late, and in development`,
}

/** What is wrong with a file. @type {Record<string, (module: Module, tree: Tree) => Fault>} */
const fileRules = {
  everyRoomIsListed: ({ path }) =>
    isSource(path) && rankOf(path) === -1 && `${roomOf(path)} is not in scripts/rooms.mjs`,

  isNamedForWhatItIs: ({ path }) =>
    /(^|\/)(index|utils?|helpers?|common|shared|misc)(\.\w+$|\/)/.test(path) && 'name it for what it holds',

  // Also circles of types and of late imports, which the linter does not see.
  noCircles: ({ path, imports }, tree) => {
    if (!/^(src|web|packages)\//.test(path)) return false
    const first = imports.find(({ target }) => reaches(target, path, tree, () => true))
    return first && `is in a circle by ${first.target}`
  },

  requestsAreKnownWhereNeeded: ({ path, imports }) =>
    filesThatKnowRequests.includes(path) &&
    !imports.some(({ specifier }) => isFastify(specifier)) &&
    'imports no fastify: remove it from filesThatKnowRequests',
}

export const ruleNames = [...Object.keys(importRules), ...Object.keys(fileRules)]

/** @param {Module[]} modules @returns {string[]} one line for each finding */
export const findingsIn = (modules) => {
  const tree = new Map(modules.map((module) => [module.path, module]))
  return modules.flatMap((module) => {
    const { path, imports } = module
    const ofFile = Object.entries(fileRules).map(([rule, judge]) => ({ line: 1, rule, fault: judge(module, tree) }))
    const ofImports = imports.flatMap((imported) =>
      Object.entries(importRules).map(([rule, judge]) => ({
        line: imported.line,
        rule,
        fault: judge(path, imported, tree),
      })),
    )
    return [...ofFile, ...ofImports].flatMap(({ line, rule, fault }) =>
      fault ? [`${path}:${line} ${fault} (${rule})`] : [],
    )
  })
}

/** Without files the check has looked at the wrong folder, and must not pass. @param {Module[]} modules */
export const emptyRooms = (modules) =>
  Object.keys(rooms).filter((room) => !modules.some(({ path }) => isProduct(path) && roomOf(path) === room))

/** Whether this file is the other one, or imports it in some steps. @type {(from: string, to: string, tree: Tree, counts: (imported:
 * Import) => boolean, seen?: Set<string>) => boolean} */
const reaches = (from, to, tree, counts, seen = new Set()) => {
  if (from === to) return true
  if (seen.has(from)) return false
  seen.add(from)
  const imports = tree.get(from)?.imports ?? []
  return imports.some((each) => counts(each) && reaches(each.target || each.specifier, to, tree, counts, seen))
}

/** Types by `import('…')` are not among its imports: the linter forbids them. @type {(path: string, text: string) => Module} */
export const readModule = (path, text) => {
  const { module, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  /** @type {(start: number, specifier: string, kind: { late?: boolean, entries?: { isType: boolean }[] }) => Import} */
  const toImport = (start, specifier, { late = false, entries = [] }) => ({
    specifier,
    target: targetOf(path, specifier),
    late,
    typeOnly: entries.length > 0 && entries.every(({ isType }) => isType),
    line: text.slice(0, start).split('\n').length,
  })
  const ofExports = module.staticExports.flatMap(({ start, entries }) => {
    const specifier = entries[0]?.moduleRequest?.value
    return specifier === undefined ? [] : [toImport(start, specifier, { entries })]
  })
  const ofImports = module.staticImports.map((each) => toImport(each.start, each.moduleRequest.value, each))
  const lateOnes = module.dynamicImports.map(({ start, moduleRequest }) =>
    toImport(start, text.slice(moduleRequest.start + 1, moduleRequest.end - 1), { late: true }),
  )
  return { path, imports: [...ofImports, ...ofExports, ...lateOnes] }
}

/** @type {(path: string, specifier: string) => string} */
const targetOf = (path, specifier) => {
  const alias = aliases.find(({ prefix }) => specifier.startsWith(prefix))
  if (!alias && !specifier.startsWith('.')) return ''
  const target = alias
    ? alias.folder + specifier.slice(alias.prefix.length)
    : posix.join(posix.dirname(path), specifier)
  return target.replace(/\.js(x?)$/, '.ts$1')
}

/** @returns {{ prefix: string, folder: string }[]} `#contract/` is `src/contract/` */
const readAliases = () => {
  /** @type {{ compilerOptions: { paths: Record<string, string[]> } }} */
  const { compilerOptions } = JSON.parse(readFileSync(join(home, 'tsconfig.json'), 'utf8'))
  return Object.entries(compilerOptions.paths).map(([name, [folder = '']]) => ({
    prefix: name.replace('*', ''),
    folder: folder.replace('./', '').replace('*', ''),
  }))
}

const aliases = readAliases()
const devProviders = 'src/providers/dev/'

/** @type {(path: string) => boolean} */
const isSource = (path) => path.startsWith('src/')

/** @type {(path: string) => boolean} */
const isTest = (path) => /\.test\.tsx?$/.test(path)

/** @type {(path: string) => boolean} */
const isProduct = (path) => isSource(path) && !isTest(path)

/** @type {(path: string) => boolean} */
const isRoutes = (path) => path.endsWith('.routes.ts')

/** @type {(path: string) => boolean} */
const isRuleWithoutRequests = (path) => isProduct(path) && !isRoutes(path) && roomOf(path) !== 'http'

/** @type {(specifier: string) => boolean} */
const isFastify = (specifier) => /^@?fastify($|\/)/.test(specifier)

/** The first folder below src/, and `main` for a file beside them. @type {(path: string) => string} */
const roomOf = (path) => (path.split('/').length > 2 ? (path.split('/')[1] ?? '') : 'main')

/** @type {(path: string) => number} */
const rankOf = (path) => Object.keys(rooms).indexOf(roomOf(path))

/** The package of a path, or otherwise its first folder. @type {(path: string) => string} */
const homeOf = (path) =>
  path
    .split('/')
    .slice(0, path.startsWith('packages/') ? 2 : 1)
    .join('/')

const readModules = async () => {
  const isOurs = (/** @type {string} */ path) =>
    /\.(tsx?|mjs)$/.test(path) && !path.endsWith('.d.ts') && !/\/(node_modules|dist)\//.test(path)
  const paths = await Promise.all(
    folders.map(async (folder) => (await filesBelow(join(home, folder))).map((path) => `${folder}/${path}`)),
  )
  const ours = paths.flat().filter(isOurs)
  return Promise.all(ours.map(async (path) => readModule(path, await readFile(join(home, path), 'utf8'))))
}

if (argv[1] && realpathSync(argv[1]) === fileURLToPath(import.meta.url)) {
  const modules = await readModules()
  const lines = findingsIn(modules)
  lines.push(...emptyRooms(modules).map((room) => `src/${room} has no file: remove it from scripts/rooms.mjs`))
  for (const line of lines) console.log(line)
  console.log(`${modules.length} files, ${lines.length} findings`)
  process.exitCode = lines.length === 0 ? 0 : 1
}
