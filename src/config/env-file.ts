import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { whyUnreadable } from '../lib/file-faults.js'

const assignmentStart = /^\s*(?:export\s+)?[A-Za-z_][\w.]*\s*=\s*(["'`]?)/

/**
 * Node's parser skips a line that it does not understand, so such lines are found here. A fault never repeats its line, which may
 * hold a secret.
 */
const faultsIn = (text: string, path: string) => {
  const lines = text.split('\n')
  const faults: string[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? ''
    if (/^\s*(#|$)/.test(line)) continue
    const [start, quote] = assignmentStart.exec(line) ?? []
    if (start === undefined) faults.push(`${path}, line ${at + 1}: must be of the form NAME=value`)
    // A quoted value may have several lines.
    else if (quote && !line.slice(start.length).includes(quote)) {
      const end = lines.findIndex((each, place) => place > at && each.includes(quote))
      if (end < 0) faults.push(`${path}, line ${at + 1}: the ${quote} before the value is never closed`)
      else at = end
    }
  }
  return faults
}

const isThere = (path: string) => {
  try {
    return statSync(path) !== undefined
  } catch {
    return false
  }
}

/** The settings in a file, and its faults. A file that does not exist has no settings and no faults. */
export const readEnvFile = (path: string): { values: NodeJS.Dict<string>; faults: string[] } => {
  if (!isThere(path)) return { values: {}, faults: [] }
  try {
    const text = readFileSync(path, 'utf8')
    return { values: parseEnv(text), faults: faultsIn(text, path) }
  } catch (error) {
    return { values: {}, faults: [`${path}: the file cannot be read (${whyUnreadable(error)})`] }
  }
}
