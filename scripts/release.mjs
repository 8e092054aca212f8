// `npm run release` makes the files of a release of the last commit in release/, and tries them in an empty folder.
//   --preview      makes a preview of changes that have no version yet; the notes are those under "Unreleased"
//   --unaudited    asks no registry for known weaknesses of the packages; the notes say so
//   --image BASE   also makes the image, with buildah; BASE is the base image with its digest
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { NotReleasable } from './release/changelog.mjs'
import { makeRelease } from './release/make-release.mjs'
import { run } from './release/run.mjs'
import { tryRelease } from './release/try-release.mjs'

const home = fileURLToPath(new URL('..', import.meta.url))

/** Refuses to release if there are changes that are not committed, because they would be missing in the release. */
const refuseChanges = async () => {
  const changes = (await run('git', ['status', '--porcelain'], { cwd: home })).trimEnd()
  if (changes !== '') throw new NotReleasable(`There are changes that are not committed:\n${changes}`)
}

const readOptions = () => {
  try {
    return parseArgs({
      options: { preview: { type: 'boolean' }, unaudited: { type: 'boolean' }, image: { type: 'string' } },
    }).values
  } catch {
    throw new NotReleasable(
      'Usage: npm run release [-- [--preview] [--unaudited] [--image BASE@DIGEST]]. CONTRIBUTING.md explains it.',
    )
  }
}

const main = async () => {
  const values = readOptions()
  await refuseChanges()
  const target = join(home, 'release')
  // The folder is renamed at the end, so that a release that fails leaves the earlier one as it is.
  const folder = join(home, 'release.new')
  await rm(folder, { recursive: true, force: true })
  const say = (/** @type {string} */ line) => console.log(line)
  try {
    const { preview: isPreview = false, unaudited: isUnaudited = false, image: baseImage } = values
    const options = { home, folder, isPreview, isUnaudited, baseImage, say }
    const { version, commit } = await makeRelease(options)
    await tryRelease({ folder, version, commit, say })
    await rm(target, { recursive: true, force: true })
    await rename(folder, target)
    say(`Made and tried: release/, version ${version}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

await main().catch((error) => {
  console.error(error instanceof NotReleasable ? error.message : error)
  process.exitCode = 1
})
