import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testProgram } from '../servers/programs.js'
import { freePort, ownFolder, startServer } from '../servers/server.js'

const run = promisify(execFile)
const deploy = fileURLToPath(new URL('../../../deploy', import.meta.url))

export type Front = Awaited<ReturnType<typeof startNginxSite>>

type Ports = { plain: number; tls: number }

/** A replacement that finds nothing would test another configuration than the one that is shipped. */
export const replaced = (text: string, changes: [string | RegExp, string][]) =>
  changes.reduce((before, [pattern, by]) => {
    const after = before.replaceAll(pattern, by)
    if (after === before) throw new Error(`The configuration has no ${String(pattern)} to replace`)
    return after
  }, text)

/** The shipped file with nothing changed but names, ports and places. */
const localised = (text: string, folder: string, { plain, tls }: Ports, hostName: [RegExp, string]) =>
  replaced(text, [
    [/ {4}listen \[::\].*\n/g, ''],
    [/listen 80;/g, `listen 127.0.0.1:${plain};`],
    [/listen 443 /g, `listen 127.0.0.1:${tls} `],
    hostName,
    ['/etc/ssl/latchkey/', `${folder}/`],
    ['/var/log/nginx/', `${folder}/`],
  ])

const mainFile = (folder: string, site: string) => `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 2;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.error.log warn;
events { worker_connections 1024; }
http {
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    access_log off;
    include ${folder}/${site};
}
`

export const makeCertificate = async (folder: string, names: readonly string[] = ['localhost']) => {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', 'privkey.pem']
  const name = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${names.map((each) => `DNS:${each}`).join()}`]
  await run('openssl', ['req', '-x509', ...key, '-out', 'fullchain.pem', '-days', '30', ...name], { cwd: folder })
  return readFile(join(folder, 'fullchain.pem'), 'utf8')
}

export const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => resolve(true))
    socket.once('connect', () => socket.destroy())
    socket.once('error', () => resolve(false))
  })

export type NginxOptions = {
  /** Ports of the instances behind it. */
  instances: number[]
  ports?: Ports
  /** A file below deploy/, a second one beside it, and further changes to them. */
  site?: string
  beside?: string
  /** Takes the place of `example.com`. Without it, there is one host: `localhost`. */
  domain?: string
  /** Port of the application behind it. */
  application?: number
  changes?: [string | RegExp, string][]
}

export const freePorts = async (): Promise<Ports> => ({ plain: await freePort(), tls: await freePort() })

/** A real nginx with a shipped configuration, a throw-away certificate and a folder of its own. */
export const startNginxSite = async ({
  instances,
  site = 'nginx/latchkey.conf',
  changes = [],
  ...rest
}: NginxOptions) => {
  const command = testProgram('nginx')
  if (!command) throw new Error('nginx is not on this machine')
  const ports = rest.ports ?? (await freePorts())
  const folder = await ownFolder('nginx')
  const certificate = await makeCertificate(folder)
  await mkdir(join(folder, 'snippets'))
  await cp(join(deploy, 'nginx/snippets'), join(folder, 'snippets'), { recursive: true })
  const change = async (name: string, changes: [string | RegExp, string][]) => {
    const file = join(folder, 'snippets', name)
    await writeFile(file, replaced(await readFile(file, 'utf8'), changes))
  }
  for (const name of ['latchkey-own-answers.conf', 'latchkey-plain.conf'])
    await change(name, [['$server_name$', `$server_name:${ports.tls}$`]])
  const servers = instances.map((port) => `server 127.0.0.1:${port} $2\n`).join('')
  await change('latchkey-instances.conf', [[/(server 127\.0\.0\.1:300\d (max_fails.*)\n)+/g, servers]])
  if (rest.application) await change('latchkey-application-address.conf', [['8080', String(rest.application)]])
  const files = [site, ...(rest.beside ? [rest.beside] : [])].map((path) => readFile(join(deploy, path), 'utf8'))
  const hostName: [RegExp, string] = rest.domain
    ? [/example\.com/g, rest.domain]
    : [/(?:auth|app)\.example\.com/g, 'localhost']
  const shipped = localised((await Promise.all(files)).join(''), folder, ports, hostName)
  await writeFile(join(folder, 'site.conf'), changes.length > 0 ? replaced(shipped, changes) : shipped)
  await writeFile(join(folder, 'nginx.conf'), mainFile(folder, 'site.conf'))

  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'nginx.error.log')]
  await run(command, [...args, '-t'])
  const server = await startServer({ command, args, folder, ready: () => listens(ports.tls), endSignal: 'SIGTERM' })
  const read = (name: string) => readFile(join(folder, name), 'utf8').catch(() => '')
  return {
    ...server,
    ports,
    port: ports.tls,
    folder,
    certificate,
    /** Everything that nginx has written down so far. */
    logs: async () =>
      (
        await Promise.all(['latchkey.access.log', 'latchkey.error.log', 'nginx.error.log', 'server.log'].map(read))
      ).join(''),
  }
}
