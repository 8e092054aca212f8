/** The names of the places in a text: `name` in `Hello, {name}`. */
export const placeholdersIn = (text: string) => new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))

/** Puts values into the places of a text, once: a value that looks like a place stays as it is. */
export const fillPlaceholders = (text: string, values: Readonly<Record<string, unknown>>) =>
  text.replaceAll(/\{(\w+)\}/g, (place, name: string) => (values[name] === undefined ? place : String(values[name])))
