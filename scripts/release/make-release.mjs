// Builds a commit in a folder of its own and packs it: the program, the packages, the list of components, the notes and the
// checksums. The same commit gives the same bytes, with the same versions of Node and npm.
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lists } from '../common-passwords.mjs'
import { external } from '../external-packages.mjs'
import { filesBelow } from '../publish.mjs'
import { auditPackages, judgeAudit } from './audit.mjs'
import { notesFor, previewVersion } from './changelog.mjs'
import { buildImage, refuseUnpinned } from './image.mjs'
import {
  packedDescription,
  packedDockerfile,
  packedDockerignore,
  packedPackageReadme,
  packedReadme,
  productionOnly,
  unusedFolder,
  withNamedPages,
  withoutUnused,
  withPackedLinks,
} from './packed-program.mjs'
import { run } from './run.mjs'
import { finishedSbom, importedPackages } from './sbom.mjs'

/**
 * With `isUnaudited` nobody is asked for known weaknesses of the packages, and the notes say so.
 * @typedef {{ home: string, folder: string, isPreview: boolean, isUnaudited: boolean, baseImage?: string | undefined, say(line: string): void }} ReleaseOptions
 */
/**
 * `work` is the folder in which the commit is built, and `folder` gets the files of the release.
 * @typedef {{ work: string, folder: string, commit: string, committedAt: Date, version: string }} Release
 */

/** @param {string} file */
const readJson = async (file) => JSON.parse(await readFile(file, 'utf8'))

/** @type {(file: string, value: unknown) => Promise<void>} */
const writeJson = (file, value) => writeFile(file, `${JSON.stringify(value, null, 2)}\n`)

/** @param {string} home */
const lastCommit = async (home) => {
  const [commit = '', seconds] = (await run('git', ['log', '-1', '--format=%H %ct'], { cwd: home })).trim().split(' ')
  return { commit, committedAt: new Date(Number(seconds) * 1000) }
}

/** @type {(home: string, work: string, commit: string) => Promise<void>} */
const unpackCommit = async (home, work, commit) => {
  const archive = join(work, 'commit.tar')
  await run('git', ['archive', '--output', archive, commit], { cwd: home })
  await run('tar', ['--no-same-permissions', '-xf', archive], { cwd: work })
  await rm(archive)
}

/**
 * Installs the packages. `npm ci` also builds, because it runs the script `prepare`.
 * @type {(work: string, commit: string) => Promise<void>}
 */
const buildCommit = async (work, commit) => {
  const env = { ...process.env, COMMIT: commit }
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: work, env })
}

/** @type {(release: Release, path: string) => Promise<string>} */
const pack = async ({ work, folder }, path) => {
  const args = ['pack', path, '--ignore-scripts', '--json', '--pack-destination', folder]
  const [packed] = JSON.parse(await run('npm', args, { cwd: work }))
  return packed.filename
}

/** @param {Release} release */
const packPackages = async (release) => {
  const names = (await readdir(join(release.work, 'packages'), { withFileTypes: true }))
    .filter((each) => each.isDirectory())
    .map(({ name }) => name)
    .sort()
  for (const name of names) {
    const file = join(release.work, 'packages', name, 'package.json')
    // The scripts of a package are for this repository. They would build the package once more.
    const { scripts: _, ...description } = await readJson(file)
    await writeJson(file, { ...description, version: release.version })
    const readme = join(release.work, 'packages', name, 'README.md')
    await writeFile(readme, packedPackageReadme(await readFile(readme, 'utf8'), name, release.version))
    await pack(release, `./packages/${name}`)
  }
}

/** Changes the guides for readers of the packed folder, which has fewer files than the repository. @param {Release} release */
const writeGuides = async ({ work, version }) => {
  const [{ files }] = JSON.parse(await run('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: work }))
  const paths = files.map((/** @type {{ path: string }} */ { path }) => path)
  const packedPaths = new Set(paths.flatMap((/** @type {string} */ path) => [path, ...foldersOf(path)]))
  for (const path of paths.filter(
    (/** @type {string} */ each) => /^[^/]*$|^(?:docs|deploy)\//.test(each) && each.endsWith('.md'),
  ))
    await writeFile(join(work, path), withPackedLinks(await readFile(join(work, path), 'utf8'), path, packedPaths))
  await writeFile(join(work, 'README.md'), packedReadme(version))
}

/** @param {string} path */
const foldersOf = (path) => path.split('/').map((_, depth, parts) => parts.slice(0, depth).join('/'))

/** Removes packages that no setting uses, and the dependencies on them. @param {string} work */
const removeUnused = async (work) => {
  await rm(join(work, unusedFolder), { recursive: true, force: true })
  for (const name of external) {
    const file = join(work, 'node_modules', name, 'package.json')
    const description = await readJson(file)
    const reduced = withoutUnused(description)
    if (reduced !== description) await writeJson(file, reduced)
  }
}

/** @param {Release} release */
const packProgram = async (release) => {
  const { work, version } = release
  const inWork = (/** @type {string} */ name) => join(work, name)
  const [description, lockfile] = await Promise.all(['package.json', 'package-lock.json'].map(inWork).map(readJson))
  await writeJson(inWork('package.json'), packedDescription(description, lockfile, { version, external }))
  await writeFile(inWork('deploy/Dockerfile'), packedDockerfile(await readFile(inWork('deploy/Dockerfile'), 'utf8')))
  await writeFile(inWork('.dockerignore'), packedDockerignore)
  await rm(inWork('package-lock.json'))
  await removeUnused(work)
  await writeGuides(release)
  // npm makes the program executable when it installs, but tar does not.
  await chmod(inWork('dist/main.js'), 0o755)
  const program = await pack(release, '.')
  return { program, description, lockfile }
}

/** The development dependencies whose code or data is in the program. @type {(work: string, names: string[]) => Promise<string[]>} */
const findBundledNames = async (work, names) => {
  const texts = await Promise.all(
    ['src', 'web'].map(async (folder) => {
      const files = (await filesBelow(join(work, folder))).filter((path) => !/\.test\.tsx?$/.test(path))
      return Promise.all(files.map((path) => readFile(join(work, folder, path), 'utf8')))
    }),
  )
  return [...importedPackages(texts.flat(), names), ...lists.map(({ name }) => name)]
}

/** @type {(release: Release, packed: Awaited<ReturnType<typeof packProgram>>) => Promise<void>} */
const writeSbom = async ({ work, folder, version, committedAt }, { description, lockfile }) => {
  const sbomFolder = join(work, 'sbom')
  const production = productionOnly({ ...description, version }, lockfile)
  await mkdir(sbomFolder)
  await writeJson(join(sbomFolder, 'package.json'), production.description)
  await writeJson(join(sbomFolder, 'package-lock.json'), production.lockfile)
  const text = await run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], { cwd: sbomFolder })
  const bundledNames = await findBundledNames(work, Object.keys(description.devDependencies))
  const { packages } = lockfile
  const sbom = finishedSbom(JSON.parse(text), { name: 'latchkey', committedAt, bundledNames, packages })
  await writeJson(join(folder, `latchkey-${version}.cdx.json`), sbom)
}

/** @type {(version: string, postgresInImage: string | undefined) => string} */
const howToInstall = (version, postgresInImage) =>
  `Where you downloaded the files: check them, and install the program in a new folder. It needs Node 20.19 or later, and no registry:

\`\`\`sh
sha256sum --ignore-missing --check SHA256SUMS
mkdir latchkey && cd latchkey
npm install --offline ../latchkey-${version}.tgz && npx latchkey
\`\`\`

Ctrl-C stops it. In a script, start \`node_modules/.bin/latchkey\` instead: npx does not pass the signal of \`kill\` on to the service.

\`latchkey-${version}.cdx.json\` lists every package in the program, for your scanner. SHA256SUMS covers this list, and an installation does not need it.

For production, unpack \`latchkey-${version}.tgz\` and follow docs/deployment.md in it; SECURITY.md in it says how to check where these files come from. ${postgresInImage ? `The image is for ${process.arch} and has PostgreSQL ${postgresInImage}: \`docker load --input latchkey-${version}.image.tar.gz\`.` : 'This release has no image; deploy/Dockerfile in the archive makes one.'}

## What changed`

/** @type {(release: Release, notes: string, options: { postgresInImage: string | undefined, isUnaudited: boolean }) => Promise<void>} */
const writeNotes = async ({ folder, version, commit }, notes, { postgresInImage, isUnaudited }) => {
  const npm = (await run('npm', ['--version'], { cwd: folder })).trim()
  const lines = [
    `# Latchkey ${version}`,
    howToInstall(version, postgresInImage),
    withNamedPages(notes),
    ...(isUnaudited ? ['Nobody was asked for known weaknesses of the packages when this was made.'] : []),
    `Made from commit \`${commit}\` with Node ${process.versions.node} and npm ${npm} by \`npm run release\`.`,
  ]
  await writeFile(join(folder, 'NOTES.md'), `${lines.join('\n\n')}\n`)
}

/** Writes the checksums in the form that `sha256sum --check SHA256SUMS` reads. @param {string} folder */
const writeChecksums = async (folder) => {
  const names = (await readdir(folder)).filter((name) => name !== 'SHA256SUMS').sort()
  const lines = await Promise.all(
    names.map(async (name) => {
      const digest = createHash('sha256').update(await readFile(join(folder, name)))
      return `${digest.digest('hex')}  ${name}\n`
    }),
  )
  await writeFile(join(folder, 'SHA256SUMS'), lines.join(''))
}

/**
 * Makes a release of the last commit in an empty `folder`.
 * @param {ReleaseOptions} options
 * @returns {Promise<{ version: string, commit: string, program: string }>}
 */
export const makeRelease = async ({ home, folder, isPreview, isUnaudited, baseImage, say }) => {
  if (baseImage !== undefined) refuseUnpinned(baseImage)
  const { commit, committedAt } = await lastCommit(home)
  const show = (/** @type {string} */ path) => run('git', ['show', `${commit}:${path}`], { cwd: home })
  const { version: packageVersion } = JSON.parse(await show('package.json'))
  const notes = notesFor(await show('CHANGELOG.md'), packageVersion, { isPreview })
  const version = isPreview ? previewVersion(packageVersion, committedAt) : packageVersion
  const work = await mkdtemp(join(tmpdir(), 'latchkey-release-'))
  const release = { work, folder, commit, committedAt, version }
  // An archive holds the modes of its files, so they must not depend on the umask of the caller.
  process.umask(0o022)
  try {
    await mkdir(folder, { recursive: true })
    await unpackCommit(home, work, commit)
    if (!isUnaudited) judgeAudit(await auditPackages(work), { isPreview, say })
    say(`Building ${version} from ${commit.slice(0, 12)} …`)
    await buildCommit(work, commit)
    await packPackages(release)
    const packed = await packProgram(release)
    await writeSbom(release, packed)
    const image = baseImage && (await buildImage({ ...release, baseImage, program: packed.program, say }))
    await writeNotes(release, notes, { postgresInImage: image ? image.postgres : undefined, isUnaudited })
    await writeChecksums(folder)
    return { version, commit, program: packed.program }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}
