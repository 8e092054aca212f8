// Reads from its types what a factory takes, also from types of other files and from `Parameters<typeof createOther>[0]`.
import { isNode, listIn, nameIn } from './syntax.mjs'

/** @typedef {import('./syntax.mjs').Node} Node */
/** @typedef {import('./modules.mjs').Module} Module */
/**
 * The shape of a parameter: the names of its members, the members of a named type, what another factory takes, several shapes
 * together, or a shape without some members.
 * @typedef {{ members: string[] } | { type: string } | { factory: string } | { all: Shape[] } | { without: string[], from: Shape }} Shape
 */

/** @type {Shape} */
const unknownShape = { members: [] }

/** @type {(type: unknown) => Shape} */
export const shapeOf = (type) => {
  if (!isNode(type)) return unknownShape
  if (type.type === 'TSTypeLiteral') return { members: listIn(type.members).map(({ key }) => nameIn(key) ?? '') }
  if (type.type === 'TSIntersectionType') return { all: listIn(type.types).map(shapeOf) }
  if (type.type === 'TSParenthesizedType') return shapeOf(type.typeAnnotation)
  if (type.type === 'TSIndexedAccessType') return shapeOf(type.objectType)
  return type.type === 'TSTypeReference' ? shapeOfReference(type) : unknownShape
}

/** @type {(type: Node) => Shape} */
const shapeOfReference = ({ typeName, typeArguments }) => {
  const name = nameIn(typeName) ?? ''
  const [first, second] = isNode(typeArguments) ? listIn(typeArguments.params) : []
  if (name === 'Parameters') return { factory: nameIn(first?.exprName) ?? '' }
  if (name === 'Pick') return { members: literalsIn(second) }
  if (name === 'Omit') return { without: literalsIn(second), from: shapeOf(first) }
  return /^(Partial|Readonly|Required)$/.test(name) ? shapeOf(first) : { type: name }
}

// 'a' | 'b'
/** @type {(type: unknown) => string[]} */
const literalsIn = (type) => {
  if (!isNode(type)) return []
  return type.type === 'TSUnionType' ? listIn(type.types).flatMap(literalsIn) : [nameIn(type.literal) ?? '']
}

// A noun is one part, however much it can do, and settings are one part. An object of parts counts as the number of its members.
/** @type {(type: Node, ownTypes: Record<string, Shape>) => boolean} */
const isListOfParts = ({ type, typeName }, ownTypes) =>
  type !== 'TSTypeReference' ||
  /^(Parameters|Pick|Omit)$|(Dependencies|Options|Parts)$/.test(nameIn(typeName) ?? '') ||
  (Object.hasOwn(ownTypes, nameIn(typeName) ?? '') && !/Settings$/.test(nameIn(typeName) ?? ''))

/** @type {(parameters: Node[], ownTypes: Record<string, Shape>) => Shape} */
export const shapeOfParameters = (parameters, ownTypes) => ({
  all: parameters.map((parameter) => {
    const { typeAnnotation: annotation, properties } = parameter
    const type = isNode(annotation) && isNode(annotation.typeAnnotation) ? annotation.typeAnnotation : undefined
    const destructured = listIn(properties)
    const hasRest = destructured.some((each) => each.type === 'RestElement')
    if (destructured.length > 0 && !hasRest) return { members: destructured.map(({ key }) => nameIn(key) ?? '') }
    return type && isListOfParts(type, ownTypes) ? shapeOf(type) : { members: [nameIn(parameter) ?? ''] }
  }),
})

/**
 * The names of all parts, as far as the files show them. `module` has the shape, and `tree` the modules that it imports.
 * @type {(shape: Shape, module: Module, tree: Map<string, Module>) => string[]}
 */
export const partsOf = (shape, module, tree) => {
  if ('members' in shape) return shape.members
  if ('all' in shape) return [...new Set(shape.all.flatMap((each) => partsOf(each, module, tree)))]
  if ('without' in shape) return partsOf(shape.from, module, tree).filter((name) => !shape.without.includes(name))
  const modules = [module, ...module.imports.flatMap(({ target }) => tree.get(target) ?? [])]
  for (const each of modules) {
    const found =
      'type' in shape ? each.types[shape.type] : each.factories.find(({ name }) => name === shape.factory)?.takes
    if (found) return partsOf(found, each, tree)
  }
  return []
}
