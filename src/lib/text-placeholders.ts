/** The names of the placeholders in a text: `name` in `Hello, {name}`. */
export const placeholdersIn = (text: string) => new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))

/** Puts values into the placeholders of a text, once: a value that looks like a placeholder stays as it is. */
export const fillPlaceholders = (text: string, values: Readonly<Record<string, unknown>>) =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) =>
    values[name] === undefined ? placeholder : String(values[name]),
  )
