// Writes JSON that can be read and compared: a value that fits stands on one line, and brackets around a single value take no line.

const width = 320

/** @type {(value: unknown) => string} */
const inOneLine = (value) => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`
  return `{${Object.entries(value)
    .map(([key, each]) => `${JSON.stringify(key)}:${inOneLine(each)}`)
    .join(', ')}}`
}

/** @type {(value: unknown, indent: string, usedWidth: number) => string} */
const write = (value, indent, usedWidth) => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const line = inOneLine(value)
  if (usedWidth + line.length <= width || (isList && value.every((each) => typeof each === 'string'))) return line
  const [open, close] = isList ? '[]' : '{}'
  const entries = Object.entries(value).map(([key, each]) => [isList ? '' : `${JSON.stringify(key)}: `, each])
  if (entries.length === 1) {
    const [name, only] = entries[0] ?? ['']
    return `${open}${name}${write(only, indent, usedWidth + name.length + 2)}${close}`
  }
  const inner = `${indent} `
  const parts = entries.map(([name, each]) => `${inner}${name}${write(each, inner, inner.length + name.length + 1)}`)
  return `${open}\n${parts.join(',\n')}\n${indent}${close}`
}

/** @param {unknown} value */
export const compactJson = (value) => write(value, '', 0)
