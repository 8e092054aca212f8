// Changes npm's list of components (CycloneDX) for a release: it is the same for the same commit, and has the bundled packages.
import { createHash } from 'node:crypto'

/** @typedef {{ name: string, version: string, purl: string, [key: string]: unknown }} Component */
/**
 * @typedef {{ serialNumber: string, metadata: { timestamp: string, component: Record<string, unknown> }, components: Component[],
 * [key: string]: unknown }} Sbom
 */
/** @typedef {import('./packed-program.mjs').Locked} Locked */

/**
 * The component of a package that is only needed for building, but whose code or data the build puts into the program.
 * @type {(name: string, locked: Locked) => Component}
 */
const bundledComponent = (name, { version = '', integrity = '', license }) => ({
  'bom-ref': `${name}@${version}`,
  type: 'library',
  name,
  version,
  scope: 'required',
  purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
  hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
  ...(license && { licenses: [{ license: { id: license } }] }),
})

/**
 * Makes the serial number from the contents, and takes the time from the commit. npm takes a random number and the present time.
 * @type {(sbom: Sbom, of: { name: string, committedAt: Date, bundledNames: string[], packages: Record<string, Locked> }) => Sbom}
 */
export const finishedSbom = (sbom, { name, committedAt, bundledNames, packages }) => {
  const bundledComponents = bundledNames.map((each) => bundledComponent(each, packages[`node_modules/${each}`] ?? {}))
  const components = [...sbom.components, ...bundledComponents].sort((one, other) => (one.purl < other.purl ? -1 : 1))
  const metadata = {
    ...sbom.metadata,
    timestamp: committedAt.toISOString(),
    component: { ...sbom.metadata.component, type: 'application', name },
  }
  const digest = createHash('sha256')
    .update(JSON.stringify([metadata, components]))
    .digest('hex')
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
  return { ...sbom, serialNumber: `urn:uuid:${uuid}`, metadata, components }
}

/**
 * The packages that these sources import, of those that are only needed for building.
 * @type {(sources: string[], buildPackages: string[]) => string[]}
 */
export const importedPackages = (sources, buildPackages) => {
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/^(?:import|export) (?!type\b)[^'"]*?['"]([^'".#][^'"]*)['"]/gms)].map(([, path = '']) => path),
  )
  return buildPackages.filter((name) => imported.some((path) => path === name || path.startsWith(`${name}/`)))
}
