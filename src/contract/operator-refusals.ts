/** Refusals that only administrators get, and programs with a service key. */
export const operatorRefusals = {
  reason_required: {
    status: 400,
    error: 'Reason required',
    message: 'Say why you do this, for those who read its event',
  },
  own_account: {
    status: 409,
    error: 'Own account',
    message: 'Administrators cannot change their own account here',
  },
  administrators_account: {
    status: 403,
    error: 'Account of an administrator',
    message: 'Only administrators can change the account of an administrator',
  },
  no_group: { status: 409, error: 'No such group', message: 'There is no group with this name' },
  group_in_use: {
    status: 409,
    error: 'Group in use',
    message: 'An application or a setting names this group. Change that first.',
  },
  group_has_members: {
    status: 409,
    error: 'Group has members',
    message: 'This group has members, who would lose it',
  },
  group_of_administrators: {
    status: 409,
    error: 'Group of administrators',
    message: 'An invitation does not make administrators. Add the user to the group later.',
  },
  account_disabled: {
    status: 409,
    error: 'Account disabled',
    message: 'This account is disabled. Enable it first.',
  },
  address_not_proven: {
    status: 409,
    error: 'Address not proven',
    message: 'Nobody has proven the address of this account, so no link is mailed to it',
  },
  locked_down: {
    status: 409,
    error: 'Locked down',
    message: 'This account was locked down. Only an administrator can give it back to its owner.',
  },
  too_many_mails: {
    status: 409,
    error: 'Too many mails',
    message: 'This address has got as many of these mails as it may get for now',
  },
  has_account: {
    status: 409,
    error: 'Has an account',
    message: 'This address has an account. It can only be invited to groups.',
  },
  email_reserved: {
    status: 409,
    error: 'Address reserved',
    message: 'This address cannot be registered yet: it is kept for the account that had it in the last seven days',
  },
} as const
