package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type ctrlObject = client.Object

// tally counts what was reconciled and says so when it is everything.
type tally struct {
	marks                      []atomic.Bool
	left                       atomic.Int64
	reconciles, errors, exists atomic.Int64
	mutex                      sync.Mutex
	moments                    [][2]int64
}

func newTally(count int) *tally {
	tally := &tally{marks: make([]atomic.Bool, count)}
	tally.left.Store(int64(count))
	return tally
}

// mark notes that the object whose name ends in a number is done.
func (t *tally) mark(name string) {
	number, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || number < 0 || number >= len(t.marks) {
		return
	}
	if !t.marks[number].Swap(true) && t.left.Add(-1) == 0 {
		say(t.report("done"))
	}
}

// saw notes when the content with a number was seen for the first time.
func (t *tally) saw(number string) {
	now := time.Now().UnixNano()
	if value, err := strconv.ParseInt(number, 10, 64); err == nil {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.moments = append(t.moments, [2]int64{value, now})
	}
}

func (t *tally) seen() [][2]int64 {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.moments
}

func (t *tally) report(event string) report {
	return report{
		Event:      event,
		Objects:    len(t.marks) - int(t.left.Load()),
		Reconciles: t.reconciles.Load(),
		Errors:     t.errors.Load(),
		Exists:     t.exists.Load(),
	}
}

type reconciler struct {
	client    client.Client
	scheme    *runtime.Scheme
	namespace string
	tally     *tally
}

// noop reads the object from the cache and leaves it alone.
func (r *reconciler) noop(timed bool) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		r.tally.reconciles.Add(1)
		var object corev1.ConfigMap
		if err := r.client.Get(ctx, request.NamespacedName, &object); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		if timed {
			r.tally.saw(object.Data["number"])
		}
		if request.Namespace == r.namespace {
			r.tally.mark(request.Name)
		}
		return ctrl.Result{}, nil
	})
}

// owners gives each ConfigMap a Secret and then notes on the ConfigMap that it has one.
func (r *reconciler) owners() reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		r.tally.reconciles.Add(1)
		err := r.provide(ctx, request)
		if err != nil {
			r.tally.errors.Add(1)
			if apierrors.IsAlreadyExists(err) {
				r.tally.exists.Add(1)
			}
		}
		return ctrl.Result{}, err
	})
}

func (r *reconciler) provide(ctx context.Context, request ctrl.Request) error {
	var owner corev1.ConfigMap
	if err := r.client.Get(ctx, request.NamespacedName, &owner); err != nil {
		return client.IgnoreNotFound(err)
	}
	var child corev1.Secret
	err := r.client.Get(ctx, request.NamespacedName, &child)
	if apierrors.IsNotFound(err) {
		child = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
		child.StringData = owner.Data
		if err = controllerutil.SetControllerReference(&owner, &child, r.scheme); err == nil {
			err = r.client.Create(ctx, &child)
		}
	}
	if err != nil {
		return err
	}
	if owner.Annotations["provided"] == "" {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"provided":"yes"}}}`))
		if err := r.client.Patch(ctx, &owner, patch); err != nil {
			return errors.Join(errors.New("the owner cannot be patched"), err)
		}
		r.tally.mark(request.Name)
	}
	return nil
}
