// Reads what the rules need to know about a source file from its syntax tree.
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'vite'
import { readRows } from './rows.mjs'
import { childrenOf, functionsIn, isFunction, isNode, listIn, nameIn, walk } from './syntax.mjs'

/**
 * `names` are the names that are imported. @typedef {{ specifier: string, target: string, names: string[], line: number, dynamic:
 * boolean, typeOnly: boolean }} Import
 */
/**
 * `ownLines` leaves out the lines of inner functions. @typedef {{ name: string, line: number, lines: number, ownLines: number }}
 * FunctionSize
 */
/** An import of Node, or of a package. @typedef {{ name: string, line: number }} OutsideImport */
/**
 * A file of ours. Each list of numbers has the lines at which something stands.
 * @typedef {{ path: string, lines: number, imports: Import[], outsideImports: OutsideImport[], functions: FunctionSize[],
 * defaultExports: number[], environmentReads: number[], requests: number[], sessionBegins: number[], rowsGivenAway: number[],
 * rowExports: string[] }} Module
 */
/** @typedef {import('./syntax.mjs').Node} Node */

/**
 * @param {string} path relative to the project, with forward slashes
 * @param {string} text
 * @returns {Module}
 */
export const readModule = (path, text) => {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const root = /** @type {Node} */ (/** @type {unknown} */ (program))
  const lineAt = createLineFinder(text)
  const rows = readRows(root)
  /** @type {Module} */
  const module = {
    path,
    lines: countLines(text),
    imports: [],
    outsideImports: [],
    functions: [],
    defaultExports: [],
    environmentReads: [],
    requests: [],
    sessionBegins: [],
    rowsGivenAway: rows.rowsGivenAway.map(lineAt),
    rowExports: rows.rowExports,
  }
  walk(root, undefined, (node, parent) => {
    const specifier = specifierIn(node)
    const target = specifier === undefined ? undefined : targetOf(path, specifier)
    if (specifier !== undefined && target !== undefined)
      module.imports.push(readImport(node, { specifier, target, line: lineAt(node.start) }))
    else if (specifier !== undefined) module.outsideImports.push({ name: specifier, line: lineAt(node.start) })
    if (isDefaultExport(node)) module.defaultExports.push(lineAt(node.start))
    if (readsEnvironment(node)) module.environmentReads.push(lineAt(node.start))
    if (sendsRequest(node)) module.requests.push(lineAt(node.start))
    if (beginsSession(node)) module.sessionBegins.push(lineAt(node.start))
    if (isFunction(node)) module.functions.push(measureFunction(node, parent, lineAt))
  })
  return module
}

/** Finds the line of an offset, counted from 1. @type {(text: string) => (offset: number) => number} */
const createLineFinder = (text) => {
  const ends = [...text.matchAll(/\n/g)].map(({ index }) => index)
  return (offset) => {
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ends[middle] ?? 0) < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
}

/** @type {(node: Node, parent: Node | undefined, lineAt: (offset: number) => number) => FunctionSize} */
const measureFunction = (node, parent, lineAt) => {
  const linesOf = (/** @type {Node} */ { start, end }) => lineAt(end) - lineAt(start) + 1
  const lines = linesOf(node)
  // The first line of an inner function counts for the outer function, which names it in that line.
  const inside = functionsIn(node).reduce((sum, inner) => sum + linesOf(inner) - 1, 0)
  return { name: nameOf(node, parent), line: lineAt(node.start), lines, ownLines: lines - inside }
}

/** @type {(node: Node, source: Pick<Import, 'specifier' | 'target' | 'line'>) => Import} */
const readImport = (node, source) => ({
  ...source,
  names: listIn(node.specifiers).flatMap(({ imported, local }) => nameIn(imported ?? local) ?? []),
  dynamic: node.type === 'ImportExpression' || node.type === 'TSImportType',
  typeOnly: node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType',
})

/** The file of ours that is imported, as a path in the project. @type {(path: string, specifier: string) => string | undefined} */
const targetOf = (path, specifier) => {
  const alias = aliases.find(({ prefix }) => specifier.startsWith(prefix))
  const target = alias
    ? alias.folder + specifier.slice(alias.prefix.length)
    : posix.join(posix.dirname(path), specifier)
  if (!alias && !specifier.startsWith('.')) return undefined
  return target.replace(/\.js$/, '.ts').replace(/\.jsx$/, '.tsx')
}

/** @returns {{ prefix: string, folder: string }[]} `#contract/` is `src/contract/` */
const readAliases = () => {
  /** @type {{ compilerOptions: { paths: Record<string, string[]> } }} */
  const { compilerOptions } = JSON.parse(readFileSync(new URL('../../tsconfig.json', import.meta.url), 'utf8'))
  return Object.entries(compilerOptions.paths).map(([name, [folder = '']]) => ({
    prefix: name.replace('*', ''),
    folder: folder.replace('./', '').replace('*', ''),
  }))
}

export const aliases = readAliases()

/** @type {(node: Node) => string | undefined} */
const specifierIn = (node) => {
  if (!/^(Import|Export(Named|All))Declaration$|^ImportExpression$|^TSImportType$/.test(node.type)) return undefined
  const source = /** @type {{ value?: unknown } | null | undefined} */ (node.source ?? node.argument)
  return typeof source?.value === 'string' ? source.value : undefined
}

/** @type {(node: Node) => boolean} */
const isDefaultExport = (node) =>
  node.type === 'ExportDefaultDeclaration' || (node.type === 'ExportSpecifier' && nameIn(node.exported) === 'default')

// process.env, process['env'], const { env } = process, and import { env } from 'node:process'.
/** @type {(node: Node) => boolean} */
const readsEnvironment = (node) => {
  if (node.type === 'MemberExpression') return nameIn(node.object) === 'process' && nameIn(node.property) === 'env'
  if (node.type === 'VariableDeclarator') return nameIn(node.init) === 'process' && hasKey(node.id, 'env')
  if (node.type !== 'ImportDeclaration' || !/^(node:)?process$/.test(nameIn(node.source) ?? '')) return false
  return childrenOf(node).some((specifier) => nameIn(specifier.imported) === 'env')
}

// fetch(…), window.fetch, new XMLHttpRequest() and navigator.sendBeacon.
/** @type {(node: Node) => boolean} */
const sendsRequest = (node) => {
  if (node.type === 'CallExpression') return nameIn(node.callee) === 'fetch'
  if (node.type === 'NewExpression') return nameIn(node.callee) === 'XMLHttpRequest'
  if (node.type !== 'MemberExpression') return false
  const property = nameIn(node.property)
  return (
    property === 'sendBeacon' || (property === 'fetch' && /^(window|globalThis|self)$/.test(nameIn(node.object) ?? ''))
  )
}

// sessions.beginSession, sessions['beginSession'] and const { beginSession } = sessions.
/** @type {(node: Node) => boolean} */
const beginsSession = (node) => {
  if (node.type === 'MemberExpression') return nameIn(node.property) === 'beginSession'
  return node.type === 'ObjectPattern' && hasKey(node, 'beginSession')
}

/** @type {(pattern: unknown, name: string) => boolean} */
const hasKey = (pattern, name) =>
  isNode(pattern) && childrenOf(pattern).some((property) => nameIn(property.key) === name)

/** @type {(node: Node, parent: Node | undefined) => string} */
const nameOf = (node, parent) => nameIn(node.id) ?? nameIn(parent?.id) ?? nameIn(parent?.key) ?? 'a function'

/** @type {(text: string) => number} */
const countLines = (text) => text.trimEnd().split('\n').length
