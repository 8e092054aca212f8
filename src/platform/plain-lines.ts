const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const inOneLine = (text: string) => text.replaceAll(/\p{Cc}/gu, ' ')

/** Writes words and numbers as they are, and everything else as JSON, so that what a user sent cannot look like another field. */
const asText = (value: unknown) =>
  typeof value === 'string' && /^[\w./:@+-]+$/.test(value) ? value : JSON.stringify(value)

/** The stack of an error. Its lines are indented, so that none of them looks like a line of the log. */
const stackOf = (err: unknown) => {
  const text = isRecord(err) ? String(err.stack ?? err.message) : ''
  const lines = text.split('\n').map((line) => `\n    ${inOneLine(line)}`)
  return text === '' ? '' : lines.join('')
}

/** One readable line from one JSON line of the log: `07:40:12 info  message name=value`. */
export const plainLine = (line: string) => {
  const { time, level, msg, err, ...fields }: Record<string, unknown> = JSON.parse(line)
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${asText(value)}`)
  const text = `${String(level).padEnd(5)} ${inOneLine(String(msg))}${rest.join('')}`
  return `${String(time).slice(11, 19)} ${text}${stackOf(err)}\n`
}
