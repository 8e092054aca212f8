// The requests of administrators stand in a document of their own: few read them, and they are there only with ADMIN_GROUP.

/** @typedef {Record<string, any>} Document */

const isForAdministrators = (/** @type {string} */ path) => path.startsWith('/api/auth/admin/')

/**
 * The components that a part of a document refers to, and that those refer to.
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
 * Of the document of a service with ADMIN_GROUP.
 * @param {Document} document
 */
export const adminPart = ({ webhooks: _, components, ...document }) => {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => isForAdministrators(path)))
  const tags = document.tags.filter((/** @type {{ name: string }} */ { name }) => name === 'administrators')
  const used = referencesIn(paths, components)
  const kept = Object.entries(components).map(([kind, each]) => [
    kind,
    kind === 'securitySchemes'
      ? each
      : Object.fromEntries(Object.entries(each).filter(([name]) => used.has(`${kind} ${name}`))),
  ])
  return { ...document, paths, tags, components: Object.fromEntries(kept) }
}
