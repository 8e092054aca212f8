import { execFile } from 'node:child_process'
import { access, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/settings/config.js'
import { read } from '../support/project.js'
import { testProgram } from '../support/servers/programs.js'
import { ownFolder } from '../support/servers/server.js'
import { makeCertificate } from '../support/site/nginx.js'

type Service = {
  image?: string
  build?: unknown
  ports?: string[]
  volumes?: string[]
  networks: string[] | Record<string, { ipv4_address?: string }>
  secrets?: string[]
  profiles?: string[]
  environment?: Record<string, string>
  depends_on?: string[] | Record<string, unknown>
}
type Compose = { services: Record<string, Service>; networks: object; secrets: object; volumes: object }

const run = promisify(execFile)
const deploy = fileURLToPath(new URL('../../deploy/', import.meta.url))
const namesOf = (list: string[] | object | undefined = []) => (Array.isArray(list) ? list : Object.keys(list))

/** What a service sees of our files: the path here, and the path in the container. */
const mountsOf = ({ volumes = [] }: Service) =>
  volumes
    .map((each) => each.split(':'))
    .flatMap(([from = '', to = '']) => (from.startsWith('./') ? [{ from, to }] : []))

describe('the compose file with servers', () => {
  let compose: Compose
  const service = (name: string): Service => {
    const found = compose.services[name]
    if (!found) throw new Error(`There is no service ${name}`)
    return found
  }
  const additions: Record<string, Compose> = {}
  beforeAll(async () => {
    compose = parse(await read('deploy/compose.servers.yaml'), { merge: true })
    for (const name of ['mail', 'redis', 'providers'])
      additions[name] = parse(await read(`deploy/compose.${name}.yaml`), { merge: true })
  })

  it('names only what exists', async () => {
    const [networks, secrets] = [namesOf(compose.networks), namesOf(compose.secrets)]
    for (const [name, each] of Object.entries(compose.services)) {
      expect(networks, name).toEqual(expect.arrayContaining(namesOf(each.networks)))
      expect(secrets, name).toEqual(expect.arrayContaining(namesOf(each.secrets)))
      expect(namesOf(compose.services), name).toEqual(expect.arrayContaining(namesOf(each.depends_on)))
      expect([name, each.image ?? each.build]).not.toEqual([name, undefined])
      const files = mountsOf(each).filter(({ from }) => !from.startsWith('./secrets/'))
      await Promise.all(files.map(({ from }) => access(join(deploy, from))))
    }
  })

  it('names versions with which the guide says that tests were run', async () => {
    const guide = await read('docs/deployment.md')
    const tested = guide.slice(guide.indexOf('## What was tested'))
    const services = [compose, ...Object.values(additions)].flatMap((each) => Object.values(each.services))
    const images = services.flatMap(({ image = '' }) => [...image.matchAll(/^(\w+):([\d.]+)/g)])
    const names: Record<string, string> = { nginx: 'nginx', node: 'Node', postgres: 'PostgreSQL', redis: 'Redis' }
    expect(new Set(images.map(([, image]) => image))).toEqual(new Set(Object.keys(names)))
    for (const [, image = '', version] of images) expect(tested).toMatch(new RegExp(`${names[image]} ${version}\\b`))
  })

  it('lets only nginx reach the application, and only nginx be reached', () => {
    const sharing = Object.entries(compose.services)
      .filter(([, { networks }]) => namesOf(networks).includes('application'))
      .map(([name]) => name)
    expect(sharing.sort()).toEqual(['application', 'nginx'])
    expect(namesOf(service('application').networks)).toEqual(['application'])
    expect(Object.entries(compose.services).flatMap(([name, { ports }]) => (ports ? [name] : []))).toEqual(['nginx'])
  })

  it('names no mail server and no Redis, which are files of their own that add to each instance what they declare', async () => {
    const text = await read('deploy/compose.servers.yaml')
    expect(text.replaceAll(/^\s*#.*$/gm, '')).not.toMatch(/smtp|mail|redis/i)
    for (const [name, { services, secrets }] of Object.entries(additions)) {
      const instances = ['latchkey-1', 'latchkey-2'].map((each) => services[each])
      expect(instances[0], name).toEqual(instances[1])
      for (const each of Object.values(services))
        expect(namesOf(secrets), name).toEqual(expect.arrayContaining(namesOf(each.secrets)))
      for (const each of instances)
        expect([...namesOf(compose.services), ...namesOf(services)], name).toEqual(
          expect.arrayContaining(namesOf(each?.depends_on)),
        )
    }
  })

  it('runs backup and restore as the owner of the tables, with the key of what is sealed', () => {
    expect(service('owner')).toMatchObject({ profiles: ['owner'], restart: 'no' })
    expect(service('owner').secrets).toEqual(['database_url', 'database_owner_url', 'jwt_secret'])
    const withOwner = Object.entries(compose.services).filter(([, { secrets = [] }]) =>
      secrets.includes('database_owner_url'),
    )
    expect(withOwner.map(([name]) => name)).toEqual(['migrate', 'owner'])
  })

  it('keeps registration closed until the operator opens it, and ends a sign-in in the application', () => {
    const { REGISTRATION, AFTER_SIGN_IN } = service('latchkey-1').environment ?? {}
    expect([REGISTRATION, AFTER_SIGN_IN]).toEqual(['$' + '{REGISTRATION:-closed}', '/'])
  })

  it('gives nginx a configuration that it accepts, with the addresses of the containers', async () => {
    const folder = await ownFolder('compose')
    try {
      await makeCertificate(folder)
      await mkdir(join(folder, 'snippets'))
      // In the order of the file: single snippets are put over those of the folder.
      for (const { from, to } of mountsOf(service('nginx'))) {
        const place = to.replace('/etc/nginx/', `${folder}/`).replace('conf.d/', '')
        if (!from.startsWith('./secrets/')) await cp(join(deploy, from), place, { recursive: true })
      }
      const text = (await read('deploy/forward-auth/nginx.conf'))
        .replaceAll('/etc/ssl/latchkey/', `${folder}/`)
        .replaceAll('/var/log/nginx/', `${folder}/`)
        .replaceAll(/listen (\[::\]:)?(80|443)/g, (_, six = '', port) => `listen ${six}1${port}`)
      await writeFile(join(folder, 'default.conf'), text)
      await writeFile(
        join(folder, 'nginx.conf'),
        `pid ${folder}/pid;\nevents {}\nhttp { include ${folder}/default.conf; }\n`,
      )
      const { stdout, stderr } = await run(testProgram('nginx'), ['-T', '-e', 'stderr', '-c', `${folder}/nginx.conf`])
      expect(stderr).toContain('test is successful')
      const addresses = new Set(stdout.match(/(?<=^ *server )\d+(?:\.\d+){3}(?=:)/gm))
      const given = ['latchkey-1', 'latchkey-2', 'application'].flatMap((name) =>
        Object.values(service(name).networks).flatMap(({ ipv4_address: address }) => address ?? []),
      )
      expect(addresses).toEqual(new Set(given))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('the compose file for one container', () => {
  it('has one service with one volume, reachable for the proxy of its machine only, and PUBLIC_URL as its only question', async () => {
    const text = await read('deploy/compose.yaml')
    const { services, volumes }: Compose = parse(text)
    expect([namesOf(services), namesOf(volumes)]).toEqual([['latchkey'], ['data']])
    const { latchkey } = services
    expect(latchkey).toMatchObject({
      ...{ ports: ['127.0.0.1:3000:3000'], volumes: ['data:/data'], read_only: true, cap_drop: ['ALL'] },
      security_opt: ['no-new-privileges:true'],
    })
    expect(latchkey?.secrets).toBeUndefined()
    expect(text.match(/\$\{\w+/g)).toEqual(['$' + '{LATCHKEY_IMAGE', '$' + '{PUBLIC_URL'])
    const { TRUST_PROXY = '' } = latchkey?.environment ?? {}
    expect(text).toContain(`gateway: ${TRUST_PROXY} `)
    const config = loadConfig({ NODE_ENV: 'production', PUBLIC_URL: 'https://auth.example.com', TRUST_PROXY })
    expect(config.ownDatabase).toBe(true)
  })
})
