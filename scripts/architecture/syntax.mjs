// Functions that read the syntax tree of a file.

/** @typedef {{ type: string, start: number, end: number, [key: string]: unknown }} Node */

/** @type {(node: Node, parent: Node | undefined, visit: (node: Node, parent: Node | undefined) => void) => void} */
export const walk = (node, parent, visit) => {
  visit(node, parent)
  for (const child of childrenOf(node)) walk(child, node, visit)
}

// This is a loop for speed, because it runs for every node of every file.
/** @type {(node: Node) => Node[]} */
export const childrenOf = (node) => {
  const children = []
  for (const key in node) {
    const value = node[key]
    if (isNode(value)) children.push(value)
    else if (Array.isArray(value)) for (const each of value) if (isNode(each)) children.push(each)
  }
  return children
}

/** @returns {value is Node} */
export const isNode = (/** @type {unknown} */ value) =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

/** The outermost functions inside this node. @type {(node: Node) => Node[]} */
export const functionsIn = (node) =>
  childrenOf(node).flatMap((child) => (isFunction(child) ? [child] : functionsIn(child)))

/** @type {(value: unknown) => Node[]} */
export const listIn = (value) => (Array.isArray(value) ? value.filter(isNode) : [])

/** @type {(node: unknown) => string | undefined} */
export const nameIn = (node) => {
  const name = isNode(node) ? (node.name ?? node.value) : undefined
  return typeof name === 'string' ? name : undefined
}

/** @type {(node: Node) => boolean} */
export const isFunction = ({ type }) => /^(ArrowFunctionExpression|FunctionExpression|FunctionDeclaration)$/.test(type)
