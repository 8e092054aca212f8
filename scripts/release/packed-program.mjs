// What the packed program says of itself. Most packages are in its bundle. The others are packed with it, as bundled
// dependencies: npm takes overrides and versions of a lockfile from the project that installs only, and ignores the shrinkwrap
// of an archive. So an installation has the versions that were tested, and needs no registry.

/** @typedef {{ version?: string, integrity?: string, license?: string, dev?: boolean, link?: boolean }} Locked */
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
    ([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link,
  )
  return {
    description,
    lockfile: { name, version, lockfileVersion, packages: { '': description, ...Object.fromEntries(kept) } },
  }
}

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
export const packedDockerignore = ['*', '!package.json', '!node_modules', '!dist', '!migrations', ''].join('\n')
