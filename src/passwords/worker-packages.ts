import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { builtFile } from '../lib/home.js'
import { OperatorError } from '../lib/operator-error.js'

/** Resolves packages as the threads do. */
const require = createRequire(builtFile('passwords/bcrypt.worker.js'))

/**
 * bcrypt is machine code, in a file for each platform. Finding the file takes a few milliseconds, and starting a thread to load it would
 * take many more.
 */
const findBcrypt = () => {
  const main = require.resolve('bcrypt')
  createRequire(main)('node-gyp-build').resolve(dirname(main))
}

const packages: Readonly<Record<string, () => unknown>> = {
  piscina: () => import('piscina'),
  bcrypt: findBcrypt,
  '@zxcvbn-ts/language-common': () => require.resolve('@zxcvbn-ts/language-common'),
  '@zxcvbn-ts/language-en': () => require.resolve('@zxcvbn-ts/language-en'),
}

const files = ['common-passwords', 'passwords/bcrypt.worker.js', 'passwords/estimate.worker.js']

/** Threads load these files and packages when the first user signs in. If one is missing, the service must not start as if all was well. */
export const requireWorkerPackages = async () => {
  const missing = files.find((file) => !existsSync(builtFile(file)))
  if (missing !== undefined)
    throw new OperatorError(
      `Passwords cannot be checked: the file dist/${missing} of the program is missing. Install the program again: all of dist/ belongs to it`,
    )
  for (const [name, find] of Object.entries(packages)) {
    try {
      await find()
    } catch (cause) {
      throw new OperatorError(
        `Passwords cannot be checked: the package ${name} is missing or incomplete. Install the program again, or in a clone its packages: npm ci --omit=dev`,
        { cause },
      )
    }
  }
}
