// Writes the package.json and the guides of the packed program. Most packages are in its bundle. The others are packed with it as
// bundled dependencies, because npm takes overrides and a lockfile only from the project that installs, and ignores the shrinkwrap of an
// archive. So an installation has the versions that were tested, and needs no registry.
import { posix } from 'node:path'

/**
 * @typedef {{ version?: string, integrity?: string, license?: string, dev?: boolean, link?: boolean, optionalDependencies?:
 * Record<string, string> }} Locked
 */
/** @typedef {{ lockfileVersion: number, packages: Record<string, Locked> }} Lockfile */
/** @typedef {Record<string, unknown> & { dependencies: Record<string, string>, devDependencies: Record<string, string> }} Description */

const publishedFields = /** @type {const} */ ([
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
  ...Object.fromEntries(publishedFields.map((name) => [name, description[name]])),
  version,
  scripts: { start: 'exec node dist/main.js serve' },
  dependencies: Object.fromEntries(external.map((name) => [name, packages[`node_modules/${name}`]?.version ?? ''])),
  bundleDependencies: external,
})

/**
 * The lockfile without packages that are needed only for building, and its package.json. With the whole lockfile, `npm sbom --omit=dev`
 * would leave out packages that are needed both for building and by the program.
 * @param {Description} description
 * @param {Lockfile} lockfile
 */
export const productionOnly = ({ name, version, license, dependencies, overrides }, { lockfileVersion, packages }) => {
  const description = { name, version, license, dependencies, overrides }
  const kept = Object.entries(packages).filter(
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !path.startsWith(unusedFolder) && !dev && !link,
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

/** Native code for one platform. Only a setting that we do not have would use it. */
export const unusedFolder = 'node_modules/@napi-rs'

/**
 * The description of a package without the optional dependencies that are not packed. npm would otherwise ask a registry for them when it
 * installs over an older release.
 * @type {<Package extends { optionalDependencies?: Record<string, string> }>(description: Package) => Package}
 */
export const withoutUnused = (description) => {
  const dependencies = Object.entries(description.optionalDependencies ?? {})
  const kept = dependencies.filter(([name]) => !`node_modules/${name}`.startsWith(unusedFolder))
  return kept.length === dependencies.length
    ? description
    : { ...description, optionalDependencies: Object.fromEntries(kept) }
}

const markdownLink = /\[([^\]]+)\]\((?!\w+:|#)([^)#\s]*)(#[^)\s]*)?\)/g

/**
 * A guide without links to files that are only in the repository. The labels of the links stay.
 * @type {(text: string, path: string, packed: Set<string>) => string}
 */
export const withPackedLinks = (text, path, packed) =>
  text.replaceAll(markdownLink, (whole, label, target) => {
    const file = posix.normalize(posix.join(posix.dirname(path), target)).replace(/\/$/, '')
    return packed.has(file) ? whole : label
  })

/**
 * The notes are read outside of the packed program, so the path in it stands after the label of each link. @type {(notes: string)
 * => string}
 */
export const withNamedPages = (notes) =>
  notes.replaceAll(markdownLink, (_, label, target) => (label === target ? label : `${label}: ${target}`))

/**
 * The README of a package. No other file of the repository is packed with it, so it names the place of each guide instead of a link.
 * @type {(text: string, folder: string, version: string) => string}
 */
export const packedPackageReadme = (text, folder, version) => {
  const withPlaces = text.replaceAll(markdownLink, (_, label, target) => {
    const file = posix.normalize(posix.join('packages', folder, target))
    return /^docs\/|^packages\//.test(file)
      ? `${label} (${file.replace(/^packages\/(\w+)\/.*/, 'README of @latchkey/$1')})`
      : label
  })
  return `${withPlaces.replaceAll('-VERSION.tgz', `-${version}.tgz`)}
The guides in \`docs/\` are in the program, \`latchkey-${version}.tgz\`: once it is installed, in \`node_modules/latchkey/docs\`.
`
}

/** The README of the packed program, which replaces that of the repository. @type {(version: string) => string} */
export const packedReadme = (version) => `# Latchkey ${version}

Sign-in for your web application, self-hosted. It needs Node 20.19 or later; take 24, because 20 gets no updates any more.

\`\`\`sh
npm start                      # in this folder; then open http://localhost:3000
node dist/main.js --help       # all commands; the guides call this \`latchkey\`
\`\`\`

Where npm has installed it, \`npx latchkey\` does the same as \`npm start\`, and \`npx latchkey --help\` shows the commands.

[docs/README.md](docs/README.md) lists the guides, [docs/deployment.md](docs/deployment.md) is the way into production,
[CHANGELOG.md](CHANGELOG.md) says what changed. Where a guide begins with \`npm ci\`, leave that line out: everything is here.
`

/**
 * The Dockerfile of the packed program: the last stage of the repository's Dockerfile, with packed files instead of built ones.
 * @type {(dockerfile: string) => string}
 */
export const packedDockerfile = (dockerfile) => {
  const [head = ''] = dockerfile.split(/^FROM /m)
  const [, last = ''] = dockerfile.split(/^(?=FROM \S+$)/m)
  return head + last.replaceAll(/^COPY --from=\w+ \/\w+\/(\w+) \1$/gm, 'COPY $1 $1')
}

/** Only the files from which the image is built are not ignored. */
export const packedDockerignore = ['*', '!package.json', '!LICENSE', '!node_modules', '!dist', '!migrations', ''].join(
  '\n',
)
