// Reads what the changelog says of a version, and checks whether a release of it may be made.

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

/** The release cannot be made, for a reason that its maker can fix. */
export class NotReleasable extends Error {}

/**
 * The notes of the release. Those of a preview stand under “Unreleased”.
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
 * The version of a preview of this commit. It is later than the last release, and earlier than the next one.
 * @type {(version: string, committedAt: Date) => string}
 */
export const previewVersion = (version, committedAt) => {
  const [major = '0', minor = '0', patch = '0'] = version.split('.')
  const moment = committedAt.toISOString().replaceAll(/\D/g, '').slice(0, 14)
  return `${major}.${minor}.${Number(patch) + 1}-preview.${moment}`
}
