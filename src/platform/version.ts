import { readFileSync } from 'node:fs'

/** The version of this program, from its own package.json: the same place from `src/platform` and from `dist/platform`. */
export const programVersion = (): string => {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
