import { readFileSync } from 'node:fs'
import { home } from '../lib/home.js'

/** The version of this program, from its own package.json. */
export const programVersion = (): string => {
  const { version }: { version: string } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8'))
  return version
}
