// The rules of ARCHITECTURE.md. Each rule is a function that returns what is wrong in a module. Its name says what must hold.
import { posix } from 'node:path'
import { aliases } from './modules.mjs'

/** @typedef {import('./modules.mjs').Module} Module */
/** @typedef {import('./modules.mjs').Import} Import */
/** @typedef {{ line: number, message: string }} Finding */
/** Every module by its path. @typedef {Map<string, Module>} Tree */
/** @typedef {(module: Module, tree: Tree) => Finding[]} Rule */

// The rings from the outside to the inside. A file imports from its own ring and from the rings after it.
const rings = [
  ['main', 'testing', 'image-cluster', 'temporary-folder'],
  ['commands'],
  [
    ...[
      'service',
      'backups',
      'pages',
      'admin',
      'programs',
      'access-check',
      'openid',
      'accounts',
      'sign-in',
      'providers',
    ],
    ...['registration', 'factors', 'account-changes', 'applications', 'groups', 'messages', 'sessions', 'users'],
    ...['keys', 'passwords', 'settings', 'http', 'platform'],
  ],
  ['contract'],
  ['lib'],
]
const vagueNames = /^(utils?|helpers?|common|shared|misc)$/
// Limits are for monsters only: nobody cuts a file or a function to obey a number.
const longestFile = 600
const longestFunction = 80

/** @type {Rule} */
const hasAPlace = ({ path }) =>
  isSource(path) && ringOf(path) === -1 ? [{ line: 1, message: `src/${partOf(path)} is in no ring` }] : []

/** @type {Rule} */
const importsInwards = ({ path, imports }) =>
  isSourceAndNoTest(path)
    ? imports
        .filter(({ target }) => !isSource(target) || ringOf(target) < ringOf(path))
        .map(({ target, line }) => ({ line, message: `${partOf(path)} must not import ${target}` }))
    : []

// Browsers, servers and clients in other programs load the contract, so nothing in it may need Node.
/** @type {Rule} */
const contractIsPure = ({ path, outsideImports }) =>
  isSourceAndNoTest(path) && partOf(path) === 'contract'
    ? outsideImports
        .filter(({ name }) => name !== 'typebox')
        .map(({ name, line }) => ({ line, message: `the contract imports itself, lib and typebox, not ${name}` }))
    : []

// A package is published by itself. The build copies into it what it uses of the contract, and the files that stand beside the packages.
/** @type {Rule} */
const packagesStandAlone = ({ path, imports }) =>
  path.startsWith('packages/') && !isTest(path)
    ? imports
        .filter(({ target }) => !target.startsWith(`${packageOf(path)}/`) && partOf(target) !== 'contract')
        .filter(({ target }) => !/^packages\/[^/]+\.ts$/.test(target))
        .map(({ target, line }) => ({ line, message: `a package imports itself and src/contract, not ${target}` }))
    : []

/** @type {Rule} */
const pagesKnowTheContract = ({ path, imports }) =>
  path.startsWith('web/') && !isTest(path)
    ? imports
        .filter(({ target }) => isSource(target) && partOf(target) !== 'contract')
        .map(({ target, line }) => ({ line, message: `pages import only src/contract of src, not ${target}` }))
    : []

// Inside of src/ and of each package paths are relative, because their files are also compiled one by one.
/** @type {Rule} */
const importsByAlias = ({ path, imports }) =>
  imports
    .filter(({ target, specifier }) => {
      const alias = aliases.find(({ folder }) => target.startsWith(folder))
      return alias && homeOf(alias.folder) !== homeOf(path) && !specifier.startsWith(alias.prefix)
    })
    .map(({ specifier, line }) => ({ line, message: `import ${specifier} by its alias: see paths in tsconfig.json` }))

// A route sends refusals by its own list (http/route-refusals.ts), so that a refusal that is not in the list does not compile.
/** @type {Rule} */
const routesNameTheirRefusals = ({ path, imports }) =>
  isSourceAndNoTest(path) && path.endsWith('.routes.ts')
    ? imports
        .filter(({ target }) => target === 'src/http/errors.ts')
        .map(({ line }) => ({ line, message: 'a flow sends refusals by routeRefusals, not by http/errors.ts' }))
    : []

/** @type {Rule} */
const importsWhatIsThere = ({ path, imports }, tree) =>
  isSource(path)
    ? imports
        .filter(({ target }) => isSource(target) && !tree.has(target))
        .map(({ target, line }) => ({ line, message: `imports ${target}, which is not there` }))
    : []

/** @type {Rule} */
const storesStayHome = ({ path, imports }) =>
  imports
    .filter(({ target }) => target.endsWith('.store.ts') && posix.dirname(target) !== posix.dirname(path))
    // The tests of contracts run every statement.
    .filter(() => !path.startsWith('test/contracts/'))
    .map(({ target, line }) => ({ line, message: `a store is imported only from its own folder: ${target}` }))

// Only the folder of a table knows its columns.
/** @type {Rule} */
const nounsKeepTheirRows = ({ path, rowsGivenAway, imports }, tree) =>
  isSourceAndNoTest(path) && !path.endsWith('.store.ts')
    ? [
        ...rowsGivenAway.map((line) => ({
          line,
          message: 'a noun returns objects of its own, not rows of its store',
        })),
        ...imports
          .filter(({ target }) => posix.dirname(target) !== posix.dirname(path))
          .filter(({ target, names }) => names.some((name) => tree.get(target)?.rowExports.includes(name)))
          .map(({ target, line }) => ({ line, message: `rows stay in their own folder: ${target}` })),
      ]
    : []

// A production process must not even load the files of the development providers.
/** @type {Rule} */
const devProvidersAreOptional = ({ path, imports }) =>
  isSourceAndNoTest(path) && !path.startsWith('src/providers/dev/')
    ? imports
        .filter(({ target }) => target.startsWith('src/providers/dev/'))
        .filter(({ dynamic, typeOnly }) => !(dynamic || typeOnly))
        .map(({ target, line }) => ({ line, message: `${target} is loaded late, and in development only` }))
    : []

// One place knows how tokens are renewed, and what an answer means.
/** @type {Rule} */
const pagesAskByTheClient = ({ path, requests }) =>
  path.startsWith('web/') && !isTest(path)
    ? requests.map((line) => ({ line, message: 'pages send requests with packages/client only' }))
    : []

// Which proofs are enough for a session is decided in one place.
/** @type {Rule} */
const oneWayIntoASession = ({ path, sessionBegins }) =>
  isSourceAndNoTest(path) && !path.startsWith('src/sign-in/')
    ? sessionBegins.map((line) => ({ line, message: 'only src/sign-in begins sessions' }))
    : []

/** @type {Rule} */
const configReadsTheEnvironment = ({ path, environmentReads }) =>
  isSourceAndNoTest(path) && partOf(path) !== 'settings'
    ? environmentReads.map((line) => ({ line, message: 'process.env is read in src/settings only' }))
    : []

/** @type {Rule} */
const exportsByName = ({ path, defaultExports }) =>
  // Vite and the frameworks need default exports.
  /(^|\/)(vite|vitest)\.config\.ts$|^examples\/(next\/app|nuxt\/(app|server))\/|^examples\/\w+\/\w+\.config\./.test(
    path,
  )
    ? []
    : defaultExports.map((line) => ({ line, message: 'no default exports' }))

/** @type {Rule} */
const isNamedForWhatItIs = ({ path }) => [
  ...(/(^|\/)index\.\w+$/.test(path) ? [{ line: 1, message: 'no index files: name it for what it holds' }] : []),
  ...posix
    .dirname(path)
    .split('/')
    .filter((folder) => vagueNames.test(folder))
    .map((folder) => ({ line: 1, message: `no folder called ${folder}: name it for a verb or a noun` })),
  ...(/(^|\/)(utils?|helpers?|common|shared|misc)\.\w+$/.test(path)
    ? [{ line: 1, message: 'name it for what it holds' }]
    : []),
]

// The words of a language are one list, in one file.
/** @type {Rule} */
const filesAreShort = ({ path, lines }) =>
  lines > longestFile && !/\/words\/(admin\/)?[a-z]{2}\.ts$/.test(path)
    ? [{ line: lines, message: `${lines} lines, and a file at most ${longestFile}` }]
    : []

// A test file is a list of tests and is not measured. In test/, functions that start servers hold many inner functions, so only their
// own lines are measured.
/** @type {Rule} */
const functionsAreShort = ({ path, functions }) =>
  isTest(path)
    ? []
    : functions
        .map(({ name, line, lines, ownLines }) => ({ name, line, lines: path.startsWith('test/') ? ownLines : lines }))
        .filter(({ lines }) => lines > longestFunction)
        .map(({ name, lines, line }) => ({
          line,
          message: `${name} has ${lines} lines, and a function at most ${longestFunction}: which is its second subject?`,
        }))

/** @type {Record<string, Rule>} */
const rules = {
  hasAPlace,
  importsInwards,
  contractIsPure,
  packagesStandAlone,
  pagesKnowTheContract,
  importsByAlias,
  routesNameTheirRefusals,
  pagesAskByTheClient,
  importsWhatIsThere,
  storesStayHome,
  nounsKeepTheirRows,
  devProvidersAreOptional,
  oneWayIntoASession,
  configReadsTheEnvironment,
  exportsByName,
  isNamedForWhatItIs,
  filesAreShort,
  functionsAreShort,
}

/**
 * @param {Module[]} modules
 * @returns {string[]} one line for each finding, in the order of the modules
 */
export const findingsIn = (modules) => {
  const tree = new Map(modules.map((module) => [module.path, module]))
  return modules.flatMap((module) =>
    Object.entries(rules).flatMap(([name, rule]) =>
      rule(module, tree).map(({ line, message }) => `${module.path}:${line} ${message} (${name})`),
    ),
  )
}

export const ruleNames = Object.keys(rules)

/** Rings in which no file was found. Then the check has looked at the wrong folder, and must not pass. @param {Module[]} modules */
export const emptyRings = (modules) =>
  rings.filter((ring) => !modules.some(({ path }) => ring.includes(partOf(path)))).map(([name]) => name)

/** @type {(path: string) => boolean} */
const isSource = (path) => path.startsWith('src/')

/** @type {(path: string) => boolean} */
const isTest = (path) => /\.test\.tsx?$/.test(path)

/** @type {(path: string) => boolean} */
const isSourceAndNoTest = (path) => isSource(path) && !isTest(path)

/** The first name below src/: main, app, flows, … @type {(path: string) => string} */
const partOf = (path) => (isSource(path) ? (path.split('/')[1] ?? '').replace(/(\.test)?\.ts$/, '') : '')

/** @type {(path: string) => number} */
const ringOf = (path) => rings.findIndex((ring) => ring.includes(partOf(path)))

/** @type {(path: string) => string} */
const packageOf = (path) => path.split('/').slice(0, 2).join('/')

/** The package of a path, or otherwise its first folder. @type {(path: string) => string | undefined} */
const homeOf = (path) => (path.startsWith('packages/') ? packageOf(path) : path.split('/')[0])
