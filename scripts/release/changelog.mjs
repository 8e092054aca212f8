// What the changelog says of a version, and whether a release may be made of it.

/**
 * The text below each `## heading`, by its first word.
 * @type {(changelog: string) => Map<string, string>}
 */
const sectionsOf = (changelog) => {
  const [, ...parts] = changelog.split(/^## /m)
  return new Map(
    parts.map((part) => {
      const [heading = '', ...lines] = part.split('\n')
      return [heading.split(' ')[0] ?? '', lines.join('\n').trim()]
    }),
  )
}

/** A reason for an operator, not a bug. */
export class NotReleasable extends Error {}

/**
 * What operators are told. A preview is of what has no version yet.
 * @type {(changelog: string, version: string, options: { isPreview: boolean }) => string}
 */
export const notesFor = (changelog, version, { isPreview }) => {
  const sections = sectionsOf(changelog)
  const unreleased = sections.get('Unreleased') ?? ''
  if (isPreview) {
    if (unreleased === '') throw new NotReleasable('CHANGELOG.md has nothing under "Unreleased" to make a preview of.')
    return unreleased
  }
  const notes = sections.get(version) ?? ''
  if (notes === '') throw new NotReleasable(`CHANGELOG.md has no section "## ${version}" with a text.`)
  if (unreleased !== '')
    throw new NotReleasable(
      `CHANGELOG.md has entries under "Unreleased": give them a version in package.json, or make a preview (npm run release -- --preview).`,
    )
  return notes
}

/**
 * A version of its own for a preview of this commit: later than the last release, earlier than the next one.
 * @type {(version: string, committed: Date) => string}
 */
export const previewVersion = (version, committed) => {
  const [major = '0', minor = '0', patch = '0'] = version.split('.')
  const moment = committed.toISOString().replaceAll(/\D/g, '').slice(0, 14)
  return `${major}.${minor}.${Number(patch) + 1}-preview.${moment}`
}
