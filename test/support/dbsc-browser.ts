import { execFile } from 'node:child_process'
import { access, mkdir, readdir, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The last Chromium of Debian 12 that binds sessions with software keys: 156 ignores the offer. */
const version = '150.0.7871.100-1~deb12u1'
const packages = ['chromium', 'chromium-common'].map((name) => `${name}=${version}`)

/**
 * The program of a browser that binds sessions to keys of its own making: what `DBSC_BROWSER` names, or else the one of Debian 12, which is
 * fetched once and not installed.
 */
export const dbscBrowser = async () => {
  if (process.env.DBSC_BROWSER) return process.env.DBSC_BROWSER
  const folder = join(tmpdir(), `latchkey-chromium-${version}`)
  const binary = join(folder, 'usr/lib/chromium/chromium')
  if (
    await access(binary).then(
      () => true,
      () => false,
    )
  )
    return binary
  const fetched = `${folder}-${process.pid}`
  await mkdir(fetched, { recursive: true })
  await run('apt-get', ['download', ...packages], { cwd: fetched }).catch((error: Error) => {
    throw new Error('Set DBSC_BROWSER to a Chromium 149 or 150: only these bind sessions with software keys', {
      cause: error,
    })
  })
  for (const file of await readdir(fetched)) await run('dpkg-deb', ['-x', join(fetched, file), fetched])
  await rename(fetched, folder)
  return binary
}
