// `npm pack` packs the package.json as it is, with scripts that need files of the repository; for `prepare`, npm even asks whoever installs
// the file for an approval. So `prepack` leaves the scripts out, except `start`, and `postpack` puts the whole file back. Both run in the
// folder of the package.
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { argv } from 'node:process'

const file = 'package.json'
const wholeFile = 'package.json.whole'

const leaveOut = async () => {
  const { scripts, ...description } = JSON.parse(await readFile(file, 'utf8'))
  await copyFile(file, wholeFile)
  const kept = scripts?.start ? { ...description, scripts: { start: scripts.start } } : description
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`)
}

await (argv.includes('--restore') ? rename(wholeFile, file) : leaveOut())
