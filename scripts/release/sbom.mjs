// Makes npm's list of components (CycloneDX) fit for a release: the same for the same commit, and with what is bundled.
import { createHash } from 'node:crypto'

/** @typedef {{ name: string, version: string, purl: string, [key: string]: unknown }} Component */
/** @typedef {{ serialNumber: string, metadata: { timestamp: string, component: Record<string, unknown> }, components: Component[], [key: string]: unknown }} Sbom */
/** @typedef {import('./packed-program.mjs').Locked} Locked */

/**
 * A package that is only needed for building, and whose code or data the build puts into the program.
 * @type {(name: string, locked: Locked) => Component}
 */
const bundled = (name, { version = '', integrity = '', license }) => ({
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
 * The serial number is made from the contents: npm takes a random one, and the time of the day.
 * @type {(sbom: Sbom, of: { name: string, committed: Date, bundledNames: string[], packages: Record<string, Locked> }) => Sbom}
 */
export const finishedSbom = (sbom, { name, committed, bundledNames, packages }) => {
  const added = bundledNames.map((each) => bundled(each, packages[`node_modules/${each}`] ?? {}))
  const components = [...sbom.components, ...added].sort((one, other) => (one.purl < other.purl ? -1 : 1))
  const metadata = {
    ...sbom.metadata,
    timestamp: committed.toISOString(),
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
export const importedOf = (sources, buildPackages) => {
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/^(?:import|export) (?!type\b)[^'"]*?['"]([^'".#][^'"]*)['"]/gms)].map(([, path = '']) => path),
  )
  return buildPackages.filter((name) => imported.some((path) => path === name || path.startsWith(`${name}/`)))
}
