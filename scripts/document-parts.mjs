// The requests of administrators and of other programs stand in documents of their own, because few people read them, and they do not
// exist with an empty ADMIN_GROUP, or without SERVICE_KEYS_FILE.

/** @typedef {Record<string, any>} Document */

export const forAdministrators = { path: '/api/auth/admin/', tag: 'administrators' }
export const forPrograms = { path: '/api/service/', tag: 'for other programs' }

/**
 * The components that a part of a document refers to, directly or through other components.
 * @type {(part: unknown, components: Document, found?: Set<string>) => Set<string>}
 */
const referencesIn = (part, components, found = new Set()) => {
  for (const [, kind = '', name = ''] of JSON.stringify(part).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
    const key = `${kind} ${name}`
    if (found.has(key)) continue
    found.add(key)
    referencesIn(components[kind]?.[name] ?? {}, components, found)
  }
  return found
}

/**
 * The part of a document about the paths that start with `path` and have the tag.
 * @param {Document} document
 * @param {{ path: string, tag: string }} part
 */
export const partOf = ({ webhooks: _, components, ...document }, { path: beginning, tag }) => {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => path.startsWith(beginning)))
  const tags = document.tags.filter((/** @type {{ name: string }} */ { name }) => name === tag)
  const used = referencesIn(paths, components)
  const usedComponents = Object.entries(components).map(([kind, each]) => [
    kind,
    kind === 'securitySchemes'
      ? each
      : Object.fromEntries(Object.entries(each).filter(([name]) => used.has(`${kind} ${name}`))),
  ])
  return { ...document, paths, tags, components: Object.fromEntries(usedComponents) }
}
