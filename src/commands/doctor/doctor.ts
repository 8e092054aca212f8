import { countText } from '../../lib/text.js'
import {
  type Config,
  ConfigurationFaults,
  type Environment,
  likelyTypos,
  loadConfig,
  secretsIn,
} from '../../settings/config.js'
import { warnOfOriginsWithoutCookies } from '../../settings/hosts.js'
import { type CommandContext, commandWithoutRooms, OutputFailure, print } from '../command.js'
import { printableJson } from '../terminal/printing.js'
import { type Check, type Finding, failure, ok, runCheck, warning } from './check.js'

/** Shorter secrets are not hidden: they are parts of many words, and the report would be unreadable. */
const minLength = 4

/** A password of an address, as it is written there and as it is decoded. */
const writtenAndDecoded = (password: string) => {
  try {
    return [password, decodeURIComponent(password)]
  } catch {
    return [password]
  }
}

/** The value itself, and what is secret inside it: the passwords of addresses, or each secret of a list. */
const partsOf = (value: string) => {
  const isAddress = value.includes('://')
  const passwords = [...value.matchAll(/:\/\/[^:@/]*:([^@/]*)@/g)].flatMap(([, password = '']) =>
    writtenAndDecoded(password),
  )
  return [value, ...(isAddress ? passwords : value.split(',').map((part) => part.trim()))]
}

type SecretSetting = { name: string; value: string }

/**
 * A word that may stand in any sentence of ours. To hide it there would give it away: “no [hidden]s are stored” says what the password
 * is.
 */
const isPlainWord = (secret: string) => /^\p{L}{1,11}$/u.test(secret)

/** The settings with a secret that is one plain word. */
export const plainWordsIn = (settings: readonly SecretSetting[]) =>
  settings.filter(({ value }) => partsOf(value).some(isPlainWord)).map(({ name }) => name)

/**
 * No check prints a secret. This is the safety net for a library or a server that repeats one in its message. `isOurs`: the sentence is
 * our own, in which a plain word is no secret.
 */
export const hideSecrets = (settings: readonly SecretSetting[]) => {
  const secrets = settings.flatMap(({ value }) => partsOf(value)).filter((secret) => secret.length >= minLength)
  const unmistakable = secrets.filter((secret) => !isPlainWord(secret))
  return (text: string, isOurs: boolean) =>
    (isOurs ? unmistakable : secrets).reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
}

/** `isOurs`: no other program's words are in it. */
type Line = Finding & { name: string; isOurs?: true }

const load = (env: Environment): Config | readonly string[] => {
  try {
    return loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigurationFaults) return error.faults
    throw error
  }
}

const settingsLines = (
  { environment, envFileRemarks }: CommandContext,
  faults: readonly string[],
  config: Config | undefined,
): Line[] => {
  const remarks = [...likelyTypos(environment), ...(config ? warnOfOriginsWithoutCookies(config) : [])]
  const findings = [...faults.map(failure), ...remarks.map(warning)]
  if (config && findings.length === 0) findings.push(ok(`complete, for ${config.nodeEnv}`))
  findings.push(...envFileRemarks.map((remark) => ok(remark)))
  return findings.map((finding) => ({ name: 'settings', ...finding }))
}

const plainWordRemark = (names: readonly string[]): Line | undefined =>
  names.length === 0
    ? undefined
    : {
        name: 'secrets',
        ...warning(
          `a single plain word protects ${names.join(', ')}: choose what nobody guesses, such as openssl rand -hex 24`,
        ),
        isOurs: true,
      }

/** Runs all checks at once, because most of them wait for a server. The results keep the order of the list. */
const runAllChecks = async (config: Config, env: Environment) => {
  // The other commands do without these modules.
  const { checkGroups } = await import('./all-checks.js')
  const groups = await checkGroups(config, env)
  try {
    const checks: Check[] = groups.flatMap((group) => group.checks)
    return await Promise.all(checks.map((check) => runCheck(check)))
  } finally {
    await Promise.allSettled(groups.map(async (group) => group.close?.()))
  }
}

/** Joins the checks that were skipped for the same reason to one line, in the place of the first of them. */
const joinSkipped = (lines: readonly Line[]): Line[] =>
  lines.flatMap((line, at) => {
    const { skippedBecause } = line
    if (skippedBecause === undefined) return [line]
    const sameReason = lines.filter((each) => each.skippedBecause === skippedBecause)
    const names = sameReason.map(({ name }) => name).join(', ')
    return lines.indexOf(sameReason[0] ?? line) === at
      ? [{ level: line.level, name: 'not checked', says: `${names}: ${skippedBecause}` }]
      : []
  })

const levelCountText = (lines: readonly Line[], level: 'error' | 'warning') =>
  countText(lines.filter((line) => line.level === level).length, level)

/** Messages of servers and libraries may have several lines, but a finding has one. */
const inOneLine = (text: string) => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()

/** Unlike other commands, this one works with invalid settings, because it is needed most then. */
const report = async (context: CommandContext, json: boolean) => {
  const env = context.environment
  const loaded = load(env)
  const config = 'production' in loaded ? loaded : undefined
  const faults = 'production' in loaded ? [] : loaded
  const lines = settingsLines(context, faults, config)
  if (config) lines.push(...joinSkipped(await runAllChecks(config, env)))
  const secretSettings = config ? secretsIn(env) : []
  const hide = hideSecrets(secretSettings)
  const remark = config?.production ? plainWordRemark(plainWordsIn(secretSettings)) : undefined
  if (remark) lines.push(remark)
  const widest = Math.max(...lines.map(({ name }) => name.length))
  const texts = lines.map(({ level, name, says: text, isOurs }) => {
    // What is all right is said in our own words. A failure may be in those of a server.
    const says = inOneLine(hide(text, level === 'ok' || isOurs === true))
    return json ? printableJson({ level, name, says }) : `${level.padEnd(7)}  ${name.padEnd(widest)}  ${says}`
  })
  const summaryLines = json ? [] : ['', `${levelCountText(lines, 'error')}, ${levelCountText(lines, 'warning')}`]
  return { text: [...texts, ...summaryLines].join('\n'), code: lines.some(({ level }) => level === 'error') ? 1 : 0 }
}

export const doctor = commandWithoutRooms({
  summary: 'Check the settings and everything they refer to; changes nothing',
  help: `latchkey doctor [--json]

Checks the settings and everything they refer to: the database with its roles, schema and durability, Redis, clocks, the
proxy, mail, the providers, the data directory, threads and secrets. Prints one line for each: ok, warning or error.
It changes nothing but one key in Redis, which expires after a second, and prints no secret. The exit code is 1 if there was an
error, and 0 otherwise.`,
  json: 'one JSON object on each line: {"level": …, "name": …, "says": …}',
  run: async ({ values, context }) => {
    const { text, code } = await report(context, values.json ?? false)
    try {
      await print(context.stdout, text)
    } catch (error) {
      // If the reader has closed the pipe (`… | head`), the exit code still tells what was found.
      if (!(error instanceof OutputFailure && error.isPipeClosed)) throw error
    }
    return code
  },
})
