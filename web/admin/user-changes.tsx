import { useState } from 'preact/hooks'
import { type UserAction, userActions } from '#contract/admin/admin-api.js'
import type { AdminUserDetails } from '#contract/admin/admin-bodies.js'
import { isSameUsername } from '#contract/usernames.js'
import { Button } from '../components/button.js'
import { Field, SelectField } from '../components/field.js'
import { Notice } from '../components/notice.js'
import { Panel } from '../components/panel.js'
import { changedFields, ProfileFieldInputs, useFieldLabel, useShownValue } from '../components/profile-fields.js'
import { useSettings, useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { listFragment } from './place.js'
import { useAdmin, useRead } from './screen.js'
import { RowList } from './table.js'
import { Facts, putBackUntil } from './user-facts.js'

export type UserProps = {
  user: AdminUserDetails
  reload: () => Promise<void>
  /** Loads the list again, which goes on without the user. */
  onDeleted: () => Promise<void>
}
type ActionProps = UserProps & { onClose: () => void }

/** The reason why the administrator may not change this user; undefined if they may. */
export const useWhyUnchangeable = ({ self: isOwn, groups }: AdminUserDetails) => {
  const { ownAccount } = useWords('admin').user
  const { administrators_account: ofAdministrator } = useWords('refusals')
  const { mayManage, self } = useAdmin()
  if (isOwn) return ownAccount
  return !mayManage && groups.includes(self.adminGroup) ? ofAdministrator : undefined
}

const dangerInDialog: readonly UserAction[] = ['disable', 'lock-down', 'reset-factors']

const lockedDownLead = (
  { enablingSendsReset, enablingNeedsLink, formerOwner }: AdminUserDetails,
  words: Words['admin']['user']['enabling'],
) => {
  if (formerOwner !== null) return words.ownerInDoubt
  if (enablingNeedsLink) return words.needsLink
  return enablingSendsReset ? words.newPassword : words.chosenSince
}

/** Recent changes that a thief may have made: what the thief added works again when the account is enabled. */
const EnablingFacts = ({ user }: Pick<UserProps, 'user'>) => {
  const { enabling: words } = useWords('admin').user
  const { locale } = useSettings()
  const formerEmail = user.formerEmails.findLast(({ email }) => putBackUntil(user.undos, email) !== undefined)
  const until = formerEmail && putBackUntil(user.undos, formerEmail.email)
  const otherChanges = new Set(user.undos.filter(({ kind }) => kind !== 'email').map(({ kind }) => words.kinds[kind]))
  return (
    <>
      {formerEmail && until && (
        <p>{fill(words.moved, { email: formerEmail.email, date: dateWithZone(until, locale) })}</p>
      )}
      {otherChanges.size > 0 && <p>{fill(words.recent, { changes: [...otherChanges].join(', ') })}</p>}
    </>
  )
}

/** The dialog for one of the `userActions`. */
export const ActionDialog = ({ action, user, reload, onClose }: ActionProps & { action: UserAction }) => {
  const {
    changes,
    user: { enabling },
  } = useWords('admin')
  const words = changes[action]
  const { needsReason } = userActions[action]
  const values = { username: user.username, email: user.email, former: user.formerOwner ?? '' }
  return (
    <ChangeDialog
      title={fill(words.title, values)}
      lead={
        action === 'enable' && user.lockedDown ? fill(lockedDownLead(user, enabling), values) : fill(words.lead, values)
      }
      userNotice={words.told}
      submitLabel={words.action}
      look={dangerInDialog.includes(action) ? 'danger' : 'primary'}
      call={({ reason }) => calls.changeUser(user.id, action, reason === undefined ? {} : { reason })}
      successMessage={() => fill(words.done, values)}
      onDone={reload}
      onClose={onClose}
    >
      {action === 'enable' && <EnablingFacts user={user} />}
      {needsReason && <ReasonField />}
    </ChangeDialog>
  )
}

const DeleteDialog = ({ user, onDeleted, onClose }: Omit<ActionProps, 'reload'>) => {
  const words = useWords('admin')
  const values = { username: user.username }
  return (
    <ChangeDialog
      title={fill(words.changes.delete.title, values)}
      lead={words.changes.delete.lead}
      userNotice={words.changes.delete.told}
      submitLabel={words.changes.delete.action}
      look="danger"
      // The name is checked here, so that the administrator is not asked for a proof in vain.
      check={async ({ username = '' }, invalid) =>
        invalid.username || isSameUsername(username, user.username)
          ? invalid
          : { ...invalid, username: [words.otherUsername] }
      }
      call={({ username = '' }) => calls.deleteUser(user.id, { username: username.trim() })}
      successMessage={() => fill(words.changes.delete.done, values)}
      onDone={() => {
        location.hash = listFragment('users')
        return onDeleted()
      }}
      onClose={onClose}
    >
      <Field name="username" label={fill(words.typeUsername, values)} autoComplete="off" maxLength={1024} focused />
    </ChangeDialog>
  )
}

/** The actions that users ask support for, the harmless ones first. */
export const UserChanges = (props: UserProps) => {
  const words = useWords('admin')
  const { locked_down: onlyAdministrators } = useWords('refusals')
  const { mayManage } = useAdmin()
  const { mailIsOff } = useSettings()
  const [openDialog, setOpenDialog] = useState<UserAction | 'delete'>()
  const close = () => setOpenDialog(undefined)
  const { user } = props
  const whyUnchangeable = useWhyUnchangeable(user)
  if (whyUnchangeable !== undefined) {
    return (
      <Panel title={words.user.help}>
        <p class="panel-lead">{whyUnchangeable}</p>
      </Panel>
    )
  }
  return (
    <Panel title={words.user.help}>
      {!mayEnable(user, mayManage) && <p class="panel-lead">{onlyAdministrators}</p>}
      <ul class="row-list action-list">
        {actionsFor(user, { mayManage, mailIsOff }).map((action) => (
          <li key={buttonKeys[action]}>
            <div class="row-body">
              <span class="row-text">{words.changes[action].about}</span>
              <Button look={isDangerInList(action) ? 'danger' : 'plain'} onPress={() => setOpenDialog(action)}>
                {`${words.changes[action].action}…`}
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {openDialog === 'delete' && <DeleteDialog user={user} onDeleted={props.onDeleted} onClose={close} />}
      {openDialog !== undefined && openDialog !== 'delete' && (
        <ActionDialog {...props} action={openDialog} onClose={close} />
      )}
    </Panel>
  )
}

const isDangerInList = (action: UserAction | 'delete') => action === 'delete' || action === 'lock-down'

/** "Enable" and "Disable" have the same key, so they are one button, which keeps the focus. */
const buttonKeys: Record<UserAction | 'delete', string> = {
  'send-reset': 'password',
  'reset-factors': 'factors',
  'end-sessions': 'sessions',
  disable: 'state',
  enable: 'state',
  'lock-down': 'lock',
  'clear-limits': 'limits',
  delete: 'delete',
}

/** Support does not lift a lock-down. */
export const mayEnable = ({ lockedDown }: AdminUserDetails, mayManage: boolean) => mayManage || !lockedDown

const stateActionsFor = (user: AdminUserDetails, mayManage: boolean): UserAction[] => {
  if (!user.disabled) return ['disable']
  return mayEnable(user, mayManage) ? ['enable'] : []
}

const actionsFor = (
  user: AdminUserDetails,
  { mayManage, mailIsOff }: { mayManage: boolean; mailIsOff: boolean },
): (UserAction | 'delete')[] => [
  ...(mailIsOff ? [] : ['send-reset' as const]),
  'clear-limits',
  'reset-factors',
  'end-sessions',
  ...stateActionsFor(user, mayManage),
  'lock-down',
  ...(mayManage ? ['delete' as const] : []),
]

/** The profile fields of a user. Support may change only the fields that users edit themselves. */
export const UserFields = (props: UserProps) => {
  const words = useWords('profile-fields')
  const { mayManage } = useAdmin()
  const labelOf = useFieldLabel()
  const shownValue = useShownValue()
  const [isDialogOpen, setDialogOpen] = useState(false)
  const { fields, fieldDefinitions } = props.user
  const mayChange = useWhyUnchangeable(props.user) === undefined
  const editableFields = fieldDefinitions.filter(({ editedBy }) => mayManage || editedBy === 'user')
  return (
    <Panel title={words.title}>
      <Facts
        facts={fieldDefinitions.map((definition) => {
          const value = fields[definition.key]
          const notGiven = <span class="muted">{words.notGiven}</span>
          return [labelOf(definition), value === undefined ? notGiven : shownValue(definition, value)]
        })}
      />
      {editableFields.length > 0 && mayChange && (
        <Button onPress={() => setDialogOpen(true)}>{`${words.edit}…`}</Button>
      )}
      {isDialogOpen && <FieldsDialog {...props} definitions={editableFields} onClose={() => setDialogOpen(false)} />}
    </Panel>
  )
}

type FieldsProps = UserProps & { definitions: UserProps['user']['fieldDefinitions']; onClose: () => void }

const FieldsDialog = ({ user, definitions, reload, onClose }: FieldsProps) => {
  const words = useWords('admin').fieldChanges
  const values = { username: user.username }
  return (
    <ChangeDialog
      title={fill(words.title, values)}
      lead={words.lead}
      userNotice={words.told}
      submitLabel={words.submit}
      call={(typed) => calls.changeFields(user.id, changedFields(typed, definitions, user.fields))}
      successMessage={() => fill(words.done, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ProfileFieldInputs definitions={definitions} values={user.fields} focused />
    </ChangeDialog>
  )
}

export const UserGroups = (props: UserProps) => {
  const words = useWords('admin')
  const { mayManage } = useAdmin()
  const [openDialog, setOpenDialog] = useState<{ remove: string } | 'add'>()
  const close = () => setOpenDialog(undefined)
  const { groups, self } = props.user
  const mayChange = mayManage && !self
  return (
    <Panel title={words.groups} lead={words.user.groupsLead} step={groups.join()}>
      <RowList empty={words.user.noGroups}>
        {groups.map((group) => (
          <li key={group}>
            <div class="row-body">
              <div class="row-text">
                <strong>{group}</strong>
              </div>
              {mayChange && (
                <Button
                  label={fill(words.user.removeGroupOf, { group })}
                  onPress={() => setOpenDialog({ remove: group })}
                >{`${words.user.removeGroup}…`}</Button>
              )}
            </div>
          </li>
        ))}
      </RowList>
      {mayChange && <Button onPress={() => setOpenDialog('add')}>{`${words.user.addGroup}…`}</Button>}
      {openDialog === 'add' && <AddDialog {...props} onClose={close} />}
      {openDialog !== undefined && openDialog !== 'add' && (
        <RemoveDialog {...props} group={openDialog.remove} onClose={close} />
      )}
    </Panel>
  )
}

type GroupsProps = UserProps & { onClose: () => void }

const RemoveDialog = ({ user, group, reload, onClose }: GroupsProps & { group: string }) => {
  const words = useWords('admin').groupChanges
  const values = { username: user.username, group }
  return (
    <ChangeDialog
      title={fill(words.removeTitle, values)}
      lead={words.removeLead}
      userNotice={words.told}
      submitLabel={words.remove}
      look="danger"
      call={({ reason = '' }) => calls.changeGroups(user.id, { remove: [group], reason })}
      successMessage={() => fill(words.removed, values)}
      onDone={reload}
      onClose={onClose}
    >
      <ReasonField />
    </ChangeDialog>
  )
}

const AddDialog = ({ user, reload, onClose }: GroupsProps) => {
  const words = useWords('admin')
  const { value } = useRead(calls.groups)
  const [chosen, setChosen] = useState('')
  const joinableGroups = (value?.groups ?? []).filter(({ name }) => !user.groups.includes(name))
  const role = joinableGroups.find(({ name }) => name === chosen)?.role ?? undefined
  const { username } = user
  return (
    <ChangeDialog
      title={fill(words.groupChanges.addTitle, { username })}
      lead={words.groupChanges.addLead}
      userNotice={words.groupChanges.told}
      submitLabel={words.groupChanges.add}
      call={({ group = '', reason }) =>
        calls.changeGroups(user.id, { add: [group], ...(reason !== undefined && { reason }) })
      }
      successMessage={({ group = '' }) => fill(words.groupChanges.added, { username, group })}
      onDone={reload}
      onClose={onClose}
    >
      <SelectField
        name="group"
        label={words.user.chooseGroup}
        choices={joinableGroups.map(({ name }) => ({ value: name, label: name }))}
        onChoose={setChosen}
      />
      {role && <Notice kind="info">{words.groupChanges.gives[role]}</Notice>}
      {role && <ReasonField focused={false} />}
    </ChangeDialog>
  )
}
