// Finds where a noun gives rows of its store away: by a function that it exports, or by a function of an object that such a function
// returns.
import { childrenOf, isFunction, isNode, listIn, nameIn } from './syntax.mjs'

/** @typedef {import('./syntax.mjs').Node} Node */
/** The names that are known at a place, each with the value that it was declared with. @typedef {Map<string, Node>} Scope */

/**
 * The offsets at which rows leave the folder, and the exports that give rows to files of the same folder. @type {(program: Node) =>
 * { rowsGivenAway: number[], rowExports: string[] }}
 */
export const readRows = (program) => {
  const statements = listIn(program.body)
  const stores = new Set(
    statements
      .filter(({ type, source }) => type === 'ImportDeclaration' && isStore(source))
      .flatMap(({ specifiers }) => listIn(specifiers).map(({ local }) => nameIn(local))),
  )
  const declarations = statements.map((node) => (isNode(node.declaration) ? node.declaration : node))
  const scope = new Map(declarations.flatMap(declaredBy))
  const { rowsIn } = createRowFinder(stores)
  const exportedValues = statements
    .flatMap(({ declaration }) => (isNode(declaration) ? listIn(declaration.declarations) : []))
    .map(({ id, init }) => ({ name: nameIn(id) ?? '', offsets: rowsIn(init, scope) }))
  const rowTypes = [...statements, ...declarations].filter(isRowType)
  const rowExports = exportedValues.filter(({ name, offsets }) => offsets.length > 0 && isNamedForRows(name))
  const givenAwayOffsets = exportedValues.filter((each) => !rowExports.includes(each)).flatMap(({ offsets }) => offsets)
  return {
    rowsGivenAway: [...new Set([...givenAwayOffsets, ...rowTypes.map(({ start }) => start)])],
    rowExports: rowExports.map(({ name }) => name),
  }
}

// A function that gives rows to other files of its folder says so in its name: createNoteRows, findNoteRow.
/** @type {(name: string | undefined) => boolean} */
const isNamedForRows = (name = '') => /Rows?$/.test(name)

/** @type {(stores: Set<string | undefined>) => { rowsIn: (value: unknown, scope: Scope) => number[] }} */
const createRowFinder = (stores) => {
  /** The offsets of the expressions that make this value hold rows. @type {(value: unknown, scope: Scope) => number[]} */
  const rowsIn = (value, scope) => {
    if (!isNode(value)) return []
    if (isFunction(value)) return rowsReturnedBy(value, scope)
    if (value.type === 'CallExpression') return rowsOfCall(value, scope)
    if (value.type === 'Identifier') return rowsInName(nameIn(value) ?? '', scope)
    if (value.type === 'MemberExpression') return value.computed === true ? rowsIn(value.object, scope) : []
    if (value.type === 'LogicalExpression' && value.operator === '&&') return rowsIn(value.right, scope)
    return subexpressionsOf(value).flatMap((part) => rowsIn(part, scope))
  }

  /** @type {(call: Node, scope: Scope) => number[]} */
  const rowsOfCall = (call, scope) => {
    const callee = /** @type {Node} */ (call.callee)
    if (stores.has(nameIn(callee.object ?? callee))) return [call.start]
    // database.transaction((sql) => …) returns what its function returns.
    const functions = listIn(call.arguments).filter(isFunction)
    return [...(callee.type === 'Identifier' ? [callee] : []), ...functions].flatMap((each) => rowsIn(each, scope))
  }

  // A name is looked up once, because a function may call itself.
  /** @type {(name: string, scope: Scope) => number[]} */
  const rowsInName = (name, scope) => {
    const rest = new Map(scope)
    rest.delete(name)
    return rowsIn(scope.get(name), rest)
  }

  /** @type {(node: Node, scope: Scope) => number[]} */
  const rowsReturnedBy = ({ body }, scope) => {
    if (!isNode(body) || body.type !== 'BlockStatement') return rowsIn(body, scope)
    const ownNodes = nodesOutsideFunctions(body)
    const innerScope = new Map([...scope, ...ownNodes.flatMap(declaredBy)])
    return ownNodes
      .filter(({ type }) => type === 'ReturnStatement')
      .flatMap(({ argument }) => rowsIn(argument, innerScope))
  }
  return { rowsIn }
}

/** The expressions that a value may be, or consists of. @type {(value: Node) => unknown[]} */
const subexpressionsOf = ({ type, argument, expression, consequent, alternate, left, right, properties, value }) => {
  if (/^(AwaitExpression|SpreadElement)$/.test(type)) return [argument]
  if (type === 'ParenthesizedExpression') return [expression]
  if (type === 'ConditionalExpression') return [consequent, alternate]
  if (type === 'LogicalExpression') return [left, right]
  if (type === 'ObjectExpression') return listIn(properties)
  return type === 'Property' ? [value] : []
}

// const rows = …, const [row] = …
/** @type {(node: Node) => [name: string, value: Node][]} */
const declaredBy = (node) =>
  listIn(node.declarations).flatMap(({ id, init }) => {
    const names = isNode(id) && id.type === 'ArrayPattern' ? listIn(id.elements) : [id]
    return names.flatMap((each) => {
      const name = nameIn(each)
      return name !== undefined && isNode(init) ? [/** @type {[string, Node]} */ ([name, init])] : []
    })
  })

// export type { NoteRow } from './notes.store.js' and export type Note = store.NoteRow
/** @type {(node: Node) => boolean} */
const isRowType = ({ type, source, specifiers, typeAnnotation }) => {
  if (type === 'ExportNamedDeclaration')
    return isStore(source) && listIn(specifiers).some(({ local }) => isNamedForRows(nameIn(local)))
  if (type !== 'TSTypeAliasDeclaration' || !isNode(typeAnnotation) || !isNode(typeAnnotation.typeName)) return false
  const { left, right } = typeAnnotation.typeName
  return nameIn(left) === 'store' && isNamedForRows(nameIn(right))
}

/** @type {(source: unknown) => boolean} */
const isStore = (source) => /\.store\.js$/.test(nameIn(source) ?? '')

/** @type {(node: Node) => Node[]} */
const nodesOutsideFunctions = (node) =>
  childrenOf(node).flatMap((child) => (isFunction(child) ? [] : [child, ...nodesOutsideFunctions(child)]))
