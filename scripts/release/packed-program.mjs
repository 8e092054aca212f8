// What the packed program says of itself. Most packages are in its bundle. The others are packed with it, as bundled
// dependencies: npm takes overrides and versions of a lockfile from the project that installs only, and ignores the shrinkwrap
// of an archive. So an installation has the versions that were tested, and needs no registry.
import { posix } from 'node:path'

/** @typedef {{ version?: string, integrity?: string, license?: string, dev?: boolean, link?: boolean, optionalDependencies?: Record<string, string> }} Locked */
/** @typedef {{ lockfileVersion: number, packages: Record<string, Locked> }} Lockfile */
/** @typedef {Record<string, unknown> & { dependencies: Record<string, string>, devDependencies: Record<string, string> }} Description */

const published = /** @type {const} */ ([
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'type',
  'engines',
  'bin',
  'exports',
  'files',
])

/**
 * @param {Description} description
 * @param {Lockfile} lockfile
 * @param {{ version: string, external: string[] }} options
 */
export const packedDescription = (description, { packages }, { version, external }) => ({
  ...Object.fromEntries(published.map((name) => [name, description[name]])),
  version,
  scripts: { start: 'exec node dist/main.js serve' },
  dependencies: Object.fromEntries(external.map((name) => [name, packages[`node_modules/${name}`]?.version ?? ''])),
  bundleDependencies: external,
})

/**
 * The lockfile without what is needed for building only, and its package.json. From the whole one, `npm sbom --omit=dev` leaves
 * out packages that are needed for both.
 * @param {Description} description
 * @param {Lockfile} lockfile
 */
export const productionOnly = ({ name, version, license, dependencies, overrides }, { lockfileVersion, packages }) => {
  const description = { name, version, license, dependencies, overrides }
  const kept = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !path.startsWith(unused) && !dev && !link,
  )
  return {
    description,
    lockfile: {
      name,
      version,
      lockfileVersion,
      packages: { '': description, ...Object.fromEntries(kept.map(([path, locked]) => [path, withoutUnused(locked)])) },
    },
  }
}

/** Native code of one platform, which only a setting would use that we do not have. */
export const unused = 'node_modules/@napi-rs'

/**
 * A package without the wish for what is left out: npm would fetch it from a registry as soon as it installs over an older release.
 * @type {<Package extends { optionalDependencies?: Record<string, string> }>(description: Package) => Package}
 */
export const withoutUnused = (description) => {
  const wishes = Object.entries(description.optionalDependencies ?? {})
  const kept = wishes.filter(([name]) => !`node_modules/${name}`.startsWith(unused))
  return kept.length === wishes.length
    ? description
    : { ...description, optionalDependencies: Object.fromEntries(kept) }
}

const link = /\[([^\]]+)\]\((?!\w+:|#)([^)#\s]*)(#[^)\s]*)?\)/g

/**
 * A guide without links to files that are in the repository only: their labels stay.
 * @type {(text: string, path: string, packed: Set<string>) => string}
 */
export const withPackedLinks = (text, path, packed) =>
  text.replaceAll(link, (whole, label, target) => {
    const file = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '')
    return packed.has(file) ? whole : label
  })

/** The notes are read beside the packed program: their links say where to look in it. @type {(notes: string) => string} */
export const withNamedPages = (notes) =>
  notes.replaceAll(link, (_, label, target) => (label === target ? label : `${label}: ${target}`))

/**
 * The README of a package, which no other file of the repository is packed with: in the place of a link it says where the guide is.
 * @type {(text: string, folder: string, version: string) => string}
 */
export const packedPackageReadme = (text, folder, version) => {
  const named = text.replaceAll(link, (_, label, target) => {
    const file = posix.normalize(posix.join('packages', folder, target))
    return /^docs\/|^packages\//.test(file)
      ? `${label} (${file.replace(/^packages\/(\w+)\/.*/, 'README of @latchkey/$1')})`
      : label
  })
  return `${named.replaceAll('-VERSION.tgz', `-${version}.tgz`)}
The guides in \`docs/\` are in the program, \`latchkey-${version}.tgz\`: once it is installed, in \`node_modules/latchkey/docs\`.
`
}

/** What is on top of the folder, instead of the page for those who have the repository. @type {(version: string) => string} */
export const packedReadme = (version) => `# Latchkey ${version}

Sign-in for your web application, self-hosted. It needs Node 20.19 or later; take 24, because 20 gets no updates any more.

\`\`\`sh
npm start                      # in this folder, on an embedded database; then open http://localhost:3000
node dist/main.js --help       # all commands; the guides call this \`latchkey\`
\`\`\`

Where npm has installed it, \`npx latchkey\` does the same as \`npm start\`, and \`npx latchkey --help\` shows the commands.

[docs/README.md](docs/README.md) lists the guides, [docs/deployment.md](docs/deployment.md) is the way into production,
[CHANGELOG.md](CHANGELOG.md) says what changed. Where a guide begins with \`npm ci\`, leave that line out: everything is here.
`

/**
 * The Dockerfile of the packed program: the last stage of that of the sources, with what is there instead of what is built.
 * @type {(dockerfile: string) => string}
 */
export const packedDockerfile = (dockerfile) => {
  const [head = ''] = dockerfile.split(/^FROM /m)
  const [, last = ''] = dockerfile.split(/^(?=FROM \S+$)/m)
  return head + last.replaceAll(/^COPY --from=\w+ \/\w+\/(\w+) \1$/gm, 'COPY $1 $1')
}

/** What the image is built from. */
export const packedDockerignore = ['*', '!package.json', '!LICENSE', '!node_modules', '!dist', '!migrations', ''].join(
  '\n',
)
