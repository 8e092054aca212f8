import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import type { BrowserName } from './browsers.js'
import { stepTimeout } from './controls.js'
import { type Firefox, loadPuppeteer } from './puppeteer.js'
import { testProgram } from './servers/programs.js'
import { until } from './until.js'

type Environment = Record<string, string>

/** The journal of Orca has a line for everything that it says, whether or not there is a voice. */
const spokenIn = (journal: string) =>
  [...journal.matchAll(/SPEECH OUTPUT: '(.*?)'(?: voice=\w+)?(?:\{.*)?$/gm)].map(([, text = '']) => text)

/** The first line of an output. It fails if the program ends instead. */
const firstLine = async (program: ChildProcess, stream: Readable | null | undefined) => {
  if (!stream) throw new Error('The program has no such output')
  const ended = once(program, 'exit').then(() => {
    throw new Error(`${program.spawnfile} has ended`)
  })
  const [text] = await Promise.race([once(stream, 'data'), ended])
  return String(text).trim()
}

/** Programs with a home of their own, which end together with everything that they have started. */
const createDesktop = async () => {
  const home = await mkdtemp(join(tmpdir(), 'latchkey-orca-'))
  const environment: Environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    XDG_RUNTIME_DIR: home,
    LANG: 'C.UTF-8',
    GNOME_ACCESSIBILITY: '1',
  }
  const started: ChildProcess[] = []
  const start = (program: string, options: string[]) => {
    const child = spawn(program, options, {
      env: environment,
      stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
      detached: true,
    })
    started.push(child)
    return child
  }
  const stop = async () => {
    for (const { pid, exitCode } of started.toReversed()) if (pid && exitCode === null) process.kill(-pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
  return { home, environment, start, stop }
}

type Desktop = Awaited<ReturnType<typeof createDesktop>>

/** A screen that nobody sees, and the bus on which programs say what they show. */
const startScreen = async ({ environment, start }: Desktop) => {
  const screen = start(testProgram('xvfb'), ['-displayfd', '3', '-screen', '0', '1000x800x24', '-nolisten', 'tcp'])
  environment.DISPLAY = `:${await firstLine(screen, screen.stdio[3] as Readable)}`
  const bus = start(testProgram('dbus'), ['--', 'sh', '-c', 'echo $DBUS_SESSION_BUS_ADDRESS; read -r _'])
  environment.DBUS_SESSION_BUS_ADDRESS = await firstLine(bus, bus.stdout)
}

/** Orca runs this when it starts. Without it, what is said arrives in the journal many sentences later. */
const customization = 'from orca import debug\ndebug.debugFile.reconfigure(line_buffering=True)\n'

const startReader = async ({ home, start }: Desktop) => {
  const settings = join(home, '.local/share/orca')
  await mkdir(settings, { recursive: true })
  await writeFile(join(settings, 'orca-customizations.py'), customization)
  const journal = join(home, 'orca.log')
  const orca = start(testProgram('orca'), ['--debug-file', journal, '--disable', 'braille'])
  /** Everything that Orca has said, in its order. */
  const spoken = async () => {
    if (orca.exitCode !== null) throw new Error('Orca has ended: perhaps this user runs another one')
    return spokenIn(await readFile(journal, 'utf8').catch(() => ''))
  }
  return { spoken }
}

const openFirefox = ({ home, environment }: Desktop) =>
  loadPuppeteer().launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    headless: false,
    env: environment,
    userDataDir: join(home, 'profile'),
    timeout: 2 * stepTimeout,
    extraPrefsFirefox: { 'intl.accept_languages': 'en-GB', 'accessibility.force_disabled': -1 },
  })

/** Without the first option, Chromium does not start as root. With the second, it tells the bus what is on its pages, too. */
const chromiumOptions = ['--no-sandbox', '--force-renderer-accessibility', '--lang=en-GB', '--no-first-run']

const openChromium = ({ home, environment }: Desktop) =>
  loadPuppeteer().launch({
    browser: 'chrome',
    executablePath: testProgram('windowedChromium'),
    headless: false,
    env: environment,
    userDataDir: join(home, 'profile'),
    timeout: 2 * stepTimeout,
    defaultViewport: null,
    args: chromiumOptions,
  })

/** The browsers, by the class of their windows. */
const openers = { firefox: openFirefox, chromium: openChromium }

/** There is no window manager that would do it, and the window comes some time after the browser. */
const focusWindow = async ({ environment }: Desktop, name: string) => {
  const options = ['search', '--onlyvisible', '--class', name, 'windowfocus', '%@']
  const focusing = promisify(execFile)(testProgram('xdotool'), options, { env: environment })
  return focusing.then(
    () => true,
    () => false,
  )
}

/** A browser in a window, and the screen reader Orca beside it. */
export const startOrca = async (name: BrowserName) => {
  const desktop = await createDesktop()
  let browser: Firefox | undefined
  const stop = async () => {
    await browser?.close()
    await desktop.stop()
  }
  try {
    await startScreen(desktop)
    const { spoken } = await startReader(desktop)
    await until('Orca is ready', async () => (await spoken()).length > 0)
    const greetings = (await spoken()).length
    browser = await openers[name](desktop)
    const page = await browser.newPage()
    page.setDefaultTimeout(stepTimeout)
    await until(
      `Orca speaks of ${name}`,
      async () => (await focusWindow(desktop, name)) && (await spoken()).length > greetings,
    )
    return { page, spoken, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
