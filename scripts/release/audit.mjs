import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { NotReleasable } from './changelog.mjs'

const execute = promisify(execFile)

/** What is less than this is named and does not stop a release (SECURITY.md has the times for a fix). */
const stopping = ['moderate', 'high', 'critical']

/** @typedef {{ name: string, severity: string, range: string }} Weakness */
/** @typedef {{ weaknesses: Weakness[] } | { unanswered: string }} Audit */

/**
 * Asks the registry for known weaknesses of the packages of a release, by the lockfile in `folder`. Nothing is installed.
 * @type {(folder: string, env?: NodeJS.ProcessEnv) => Promise<Audit>}
 */
export const auditPackages = async (folder, env = process.env) => {
  const args = ['audit', '--omit=dev', '--package-lock-only', '--json', '--fetch-retries=1', '--fetch-timeout=20000']
  // npm audit fails when it finds something, and says what on standard output, too.
  const { stdout } = await execute('npm', args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 }).catch(
    (/** @type {{ stdout?: string }} */ error) => ({ stdout: error.stdout ?? '' }),
  )
  return readAudit(stdout)
}

/** @type {(text: string) => Audit} */
const readAudit = (text) => {
  /** @type {{ vulnerabilities?: Record<string, Weakness>, message?: string }} */
  let report
  try {
    report = JSON.parse(text)
  } catch {
    return { unanswered: 'npm audit printed no report' }
  }
  if (report.vulnerabilities === undefined) return { unanswered: report.message ?? 'npm audit printed no report' }
  const weaknesses = Object.values(report.vulnerabilities).map(({ name, severity, range }) => ({
    name,
    severity,
    range,
  }))
  return { weaknesses }
}

/** @param {Weakness} weakness */
const inWords = ({ name, severity, range }) => `${name} ${range} (${severity})`

/**
 * A release stops at a known weakness, and when nobody knows whether there are any. A preview says so and goes on.
 * @type {(audit: Audit, options: { isPreview: boolean, say(line: string): void }) => void}
 */
export const judgeAudit = (audit, { isPreview, say }) => {
  const stop = (/** @type {string} */ sentence, /** @type {string} */ advice) => {
    if (!isPreview) throw new NotReleasable(`${sentence} ${advice}`)
    say(sentence)
  }
  if ('unanswered' in audit)
    return stop(
      `The registry did not answer the audit, so it is not known whether the packages have weaknesses: ${audit.unanswered}.`,
      'Try again, or use --unaudited, and the notes will say so.',
    )
  const { weaknesses } = audit
  const [serious, others] = [true, false].map((isSerious) =>
    weaknesses.filter(({ severity }) => stopping.includes(severity) === isSerious),
  )
  if (others && others.length > 0) say(`Known weaknesses of little weight: ${others.map(inWords).join(', ')}`)
  if (serious && serious.length > 0)
    return stop(
      `Known weaknesses: ${serious.map(inWords).join(', ')}.`,
      'Update these packages. If there is no fix, name a workaround in CHANGELOG.md and use --unaudited (SECURITY.md).',
    )
  return undefined
}
